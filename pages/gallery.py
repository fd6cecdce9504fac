"""Which known cases are there, and what differs in each on this machine?"""

from qlab.gallery import gallery_names
from qlab.ui.catalogue import catalogue
from qlab.ui.entry import ensure_entry
from qlab.ui.parts import style
from qlab.ui.state import leave

ensure_entry()
style()
leave()
catalogue(gallery_names())
