"""Opens JupyterLab so that explorers follow at once: ``python tools/start.py --notebook-dir=notebooks``.

Takes the arguments of ``jupyter lab``.
"""

import os
import sys
from pathlib import Path

from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection

ROOT = Path(__file__).resolve().parent.parent


class PromptConnection(ZMQChannelsWebsocketConnection):
    """Sends the kernel's messages to the browser without waiting for the browser to confirm the one before.

    A kernel answers a moved slider with several short messages. Left to itself TCP holds back all after the first
    until the browser has confirmed it, for which the browser's system may take its time: 40 ms on Linux.
    """

    def connect(self):
        """Connect to the kernel."""
        self.websocket_handler.set_nodelay(True)
        return super().connect()


def main(arguments):
    """Run JupyterLab until it is stopped."""
    from jupyterlab.labapp import LabApp

    # ipywidgets repeats every change to all browsers at work on the notebook; here there is one, which made the change
    os.environ.setdefault("JUPYTER_WIDGETS_ECHO", "0")
    sys.path.insert(0, str(ROOT))  # for the name of the class
    ours = "--ServerApp.kernel_websocket_connection_class=tools.start.PromptConnection"
    LabApp.launch_instance([ours, *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
