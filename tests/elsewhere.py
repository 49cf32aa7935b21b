"""A program of the tests that runs another one as on a system without the functions of Unix: `python elsewhere.py CODE`.

What Python itself needs on this system is loaded first; then the names go that Windows has not, and CODE runs.
"""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sqlite3
import subprocess
import sys
import tempfile

OF_OS = """
O_NOFOLLOW O_DIRECTORY O_NONBLOCK O_CLOEXEC O_PATH O_NOCTTY O_SYNC O_DSYNC killpg setsid getsid getpgid setpgid getuid geteuid
getgid getegid setuid fork forkpty fchmod fchown chown lchown mkfifo mknod statvfs fstatvfs getxattr listxattr setxattr uname nice
sched_getaffinity sched_yield getloadavg wait posix_spawn pread pwrite openpty ttyname sysconf confstr getgroups
"""
OF_SIGNAL = """
SIGKILL SIGHUP SIGCHLD SIGALRM SIGUSR1 SIGUSR2 SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGCONT SIGTTIN SIGTTOU setitimer alarm pause
sigwait pthread_sigmask pthread_kill siginterrupt
"""
OF_SELECT = "epoll poll kqueue"
MODULES = "fcntl resource termios tty pty pwd grp readline curses syslog crypt nis"


def strip() -> None:
    for module, names in ((os, OF_OS), (signal, OF_SIGNAL), (select, OF_SELECT)):
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    subprocess.Popen.kill = lambda process: os.kill(process.pid, 9)  # type: ignore[method-assign]  # Windows has another way
    os.supports_dir_fd = set()
    os.supports_follow_symlinks = set()
    for name in MODULES.split():
        sys.modules[name] = None  # type: ignore[assignment]


if __name__ == "__main__":
    loaded = (asyncio, sqlite3, subprocess, tempfile)
    code = sys.argv.pop(1)
    sys.argv[0] = "-c"
    strip()
    exec(compile(code, "<elsewhere>", "exec"), {"__name__": "__main__"})
