"""What one takes away of a report: script, regression test, issue text, archive. Each script is run before it is offered."""
