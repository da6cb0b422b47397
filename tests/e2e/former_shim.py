#!/usr/bin/python3
"""A pod's shim as version 1 of its protocol was: former_shim.py RUN_FOLDER CONTAINER COMMAND...

What it writes and says is what that program wrote and said (launch.json without addresses, a file `lock`, a journal of
starts and ends; hello, start, signal, stat, stop; `exec` and its kin are unknown to it). Its pod has no sandbox: this is
about what a later server makes of it."""
import datetime
import fcntl
import os
import selectors
import signal
import socket
import subprocess
import sys
import time

PROTOCOL = 1


def start_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stream:
        return stream.read().rpartition(")")[2].split()[19]


class FormerShim:
    def __init__(self, folder, log_folder, container, command):
        os.chdir(folder)
        self.container, self.clients, self.stopping = container, [], False
        self.lock = os.open("lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.makedirs(f"{log_folder}/{container}", exist_ok=True)
        self.log = open(f"{log_folder}/{container}/0.log", "a", encoding="utf-8")
        self.waiting = selectors.DefaultSelector()
        self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.journal(f"start {container} 0 {self.child.pid} {start_ticks(self.child.pid)} {time.time_ns()}")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.path.exists("sock"):
            os.unlink("sock")
        self.listener.bind("sock")
        os.chmod("sock", 0o600)
        self.listener.listen()
        self.waiting.register(self.listener, selectors.EVENT_READ, self.accept)
        self.waiting.register(self.child.stdout, selectors.EVENT_READ, self.read_output)

    def journal(self, line):
        with open("journal", "a", encoding="utf-8") as stream:
            stream.write(line + "\n")

    @staticmethod
    def say(client, text):
        """As far as anyone hears it: a server that looks who is there may be gone again."""
        try:
            client.send(text.encode(), socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except OSError:
            pass

    def tell(self, text):
        for client in self.clients:
            self.say(client, text)

    def accept(self):
        client, _ = self.listener.accept()
        self.clients.append(client)
        self.waiting.register(client, selectors.EVENT_READ, lambda: self.obey(client))
        self.say(client, f"hello {PROTOCOL} {os.getpid()}")

    def read_output(self):
        line = self.child.stdout.readline()
        if not line:  # it has ended
            self.waiting.unregister(self.child.stdout)
            code = self.child.wait()
            self.journal(f"exit {self.container} 0 {code if code >= 0 else 128 - code} 0 {time.time_ns()}")
            self.tell("journal")
            return
        now = time.time_ns()
        self.log.write(f"{datetime.datetime.utcfromtimestamp(now // 10**9).isoformat()}.{now % 10**9:09}Z stdout F {line}")
        self.log.flush()

    def obey(self, client):
        try:
            words = client.recv(4096).decode().split()
        except OSError:
            words = []
        if not words:
            self.clients.remove(client)
            self.waiting.unregister(client)
            client.close()
        elif words[0] == "hello":
            self.say(client, f"hello {PROTOCOL} {os.getpid()}")
        elif words[0] == "start":
            self.tell("journal")  # there is one run, and it has begun
        elif words[0] == "signal" and words[1:3] == [self.container, "0"]:
            self.child.send_signal(int(words[3]))
        elif words[0] == "stat":
            self.say(client, f"stat {self.container}:0:{self.child.pid}")
        elif words[0] == "stop":
            self.stopping = True
            self.child.kill()
        else:
            self.say(client, f"error unknown or incomplete: {' '.join(words)[:64]}")

    def run(self):
        while not self.stopping or self.child.poll() is None or self.child.stdout in self.waiting.get_map():
            for key, _ in self.waiting.select(1):
                key.data()
        os.unlink("sock")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    os.setsid()
    FormerShim(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]).run()
