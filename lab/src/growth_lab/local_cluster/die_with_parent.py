"""Run as a script: become another program that the kernel kills when the starter dies.

A test process that is killed with -9 cannot clean up; with this, its control plane dies in the same instant. The
setting survives ``exec`` and holds for the process, so the components need to know nothing of it. It is a script and
not a hook between fork and exec, because Python code there can deadlock in a process with threads.

    python die_with_parent.py STARTER_PID PROGRAM [ARGUMENT ...]
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):
        sys.exit("the starter died before its child was ready")
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - becoming the program is the point
