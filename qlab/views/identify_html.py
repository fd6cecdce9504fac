"""What identify found, as the page shows it."""

from qlab.identify import Identification
from qlab.views import identify as views
from qlab.views.markup import sign, text
from qlab.views.palette import STATES


def verdict_html(found: Identification, *, example: bool) -> str:
    """The answer as the pages show one. ``example``: the values are ONNX Runtime's, to begin with."""
    status = "equal" if found.explaining else "differs"
    mark = STATES[status]
    word = "explained" if found.explaining else "not explained"
    returned = views.returned_sentence(found)
    if example:
        returned = "These are the values that ONNX Runtime returned here; give yours instead."
    said = [
        views.limits_sentence(found),
        views.swapped_sentence(found),
        returned,
        views.separation_sentence(found),
    ]
    said = [sentence for sentence in said if sentence]
    listed = "".join(f"<li>{text(sentence)}</li>" for sentence in said)
    head = f'<span class="q-word">{sign(mark.sign, "")} {word}</span> {text(views.headline(found))}'
    return (
        f'<section class="q-verdict q-{status}" aria-label="Answer"><p class="q-headline">{head}</p>'
        f"{f'<ul>{listed}</ul>' if listed else ''}</section>"
    )


def separation_html(found: Identification) -> str:
    """What to run, and who one is for each answer."""
    separation = found.separation
    assert separation is not None
    given = "".join(
        f'<tr><th scope="row">{text(name)}</th><td class="wrap">{text(value)}</td></tr>'
        for name, value in views.inputs(separation)
    )
    at = views.where(separation)
    told = "".join(
        f'<tr><td class="wrap">{text(value)}</td><td>{text(who)}</td></tr>'
        for value, who in views.answers(separation)
    )
    return (
        f'<h2 class="q-h2">To tell them apart, run this one</h2><div class="q-scroll"><table class="q-trace"><tbody>{given}</tbody></table>'
        f'<p class="q-hint">If {text(at)} {"is" if len(separation.indexes) == 1 else "are"} …, you are:</p>'
        f'<table class="q-trace"><tbody>{told}</tbody></table></div>'
    )


def groups_html(found: Identification) -> str:
    """Every arithmetic: those with the same result in one row, the best first."""
    rows = "".join(
        f'<tr><td class="{"t-equal" if group[0].explains else "t-differs"}">{text(views.group_words(found, group))}</td>'
        f"<td>{text(views.names(group, 40))}</td></tr>"
        for group in found.groups
    )
    without = "".join(
        f'<tr><td class="none">no result</td><td>{text(views.names(group))}: {text(why)}</td></tr>'
        for why, group in views.without_result(found).items()
    )
    return (
        '<h2 class="q-h2">Every arithmetic <small>those with the same result in one row</small></h2>'
        f'<div class="q-scroll" tabindex="0"><table class="q-trace"><thead><tr><th>explains</th><th>arithmetic</th>'
        f"</tr></thead><tbody>{rows}{without}</tbody></table></div>"
    )
