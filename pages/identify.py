"""Which arithmetic explains my own output?"""

from qlab.ui.answer import banner
from qlab.ui.entry import ensure_entry
from qlab.ui.identification import identification
from qlab.ui.parts import style
from qlab.ui.state import current, leave, save

ensure_entry()
style()
leave()  # coming from another page, the navigation has dropped the query
state = current()
save(state)
banner(state)
identification(state)
leave()
