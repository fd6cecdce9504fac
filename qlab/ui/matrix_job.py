"""A matrix that is filled in the background while its page is drawn again and again."""

import logging
import threading
from collections.abc import Sequence

from qlab.case import Case
from qlab.errors import QlabError
from qlab.history import Versions, versions_of
from qlab.matrix import Cell, Column, Matrix

JOB = "matrix_job"  # where the session keeps it
_log = logging.getLogger(__name__)


class MatrixJob:
    """One filling of one matrix, with its search; in a thread that ends when it is stopped.

    Attributes:
        case, rows, columns: what is filled. matrix: the cells so far. message: what is being done, in words.
        found: the whole, once it is done; error: why it is not.
        command: what does the same on the command line.
    """

    def __init__(
        self,
        case: Case,
        rows: Sequence[str],
        columns: Sequence[Column],
        *,
        searched: Sequence[str] = (),
        predicate: str = "wrong",
        than: tuple[str, Column] | None = None,
        install: bool = False,
        command: str = "",
    ) -> None:
        self.case, self.rows, self.columns = case, tuple(rows), tuple(columns)
        self.matrix = Matrix(case, install=install, progress=self._say)
        self.message = ""
        self.found: Versions | None = None
        self.error = ""
        self.command = command
        self._searched, self._predicate, self._than = searched, predicate, than
        self._thread = threading.Thread(target=self._fill, daemon=True, name="matrix")
        self._thread.start()

    @property
    def running(self) -> bool:
        """True until it has ended."""
        return self._thread.is_alive()

    @property
    def versions(self) -> tuple[str, ...]:
        """The rows: those asked for, and those that the search has added."""
        return self.found.rows if self.found is not None else self.rows

    def cell(self, version: str, column: Column) -> Cell | None:
        """A cell that has come; None where it has not."""
        return self.matrix.known(version, column)

    def stop(self) -> None:
        """End it soon; the cells that have come stay."""
        self.matrix.stop.set()

    def wait(self, seconds: float) -> None:
        """Wait for its end, but no longer than this."""
        self._thread.join(seconds)

    def _say(self, words: str) -> None:
        self.message = words

    def _came(self, cell: Cell) -> None:
        self.message = f"{cell.version} {cell.column.label}: {cell.words}"

    def _fill(self) -> None:
        try:
            self.found = versions_of(
                self.matrix,
                self.rows,
                self.columns,
                searched=self._searched,
                predicate=self._predicate,
                than=self._than,
                on_cell=self._came,
            )
        except QlabError as error:
            self.error = str(error)
        except Exception:
            _log.exception("a matrix failed")
            self.error = "it could not be filled on this machine"
