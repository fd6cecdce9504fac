"""A server of the page on a port of its own, and a browser to drive it: for benchmarks and for the tests."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
HOW = (
    "no browser found: on Debian and Ubuntu `sudo apt-get install chromium`, elsewhere put chromium or google-chrome "
    "into PATH, or name it in QLAB_CHROMIUM; and python -m pip install -r requirements-dev.txt for playwright"
)


def browser_path() -> str | None:
    """The browser named in QLAB_CHROMIUM, or the first one in PATH."""
    found = (shutil.which(name) for name in (os.environ.get("QLAB_CHROMIUM", ""), *NAMES) if name)
    return next((path for path in found if path), None)


def start_server(port: int, cache: Path | None = None) -> "subprocess.Popen[bytes]":
    """The page on a port of its own, once it answers. ``cache``: where it finds other releases."""
    arguments = ["-m", "streamlit", "run", "app.py", "--server.port", str(port)]
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=os.environ | ({"QLAB_CACHE": str(cache)} if cache else {}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as r:
                if r.read() == b"ok":
                    return process
        except OSError:
            time.sleep(0.05)
    process.kill()
    raise RuntimeError("the server did not answer within 60 seconds")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a server."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def idle(page: Any) -> None:
    """Wait until the script has run to its end."""
    page.wait_for_selector(
        '[data-testid="stApp"][data-test-script-state="notRunning"]', state="attached"
    )


def memory(pid: int) -> float | None:
    """Megabytes that a process and its children hold (resident); None where /proc does not say."""
    try:
        total = 0
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS:"):
                total = int(line.split()[1])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        return total / 1024 + sum(memory(int(child)) or 0 for child in children)
    except (OSError, ValueError):
        return None
