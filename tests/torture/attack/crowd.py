"""Many connections at once, in one thread, for attacks by sheer number."""

import contextlib
import resource
import selectors
import socket
import time

import wire

TCP_ESTABLISHED = 1  # As <netinet/tcp.h> numbers the states.


def raise_descriptor_limit(needed):
    """Raises the limit of open files; returns whether this process may now have `needed`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < needed <= hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return soft >= needed


class Crowd:
    def __init__(self, daemon):
        self.daemon = daemon
        self.members = []

    def join(self, count, receive_buffer=None):
        for _ in range(count):
            member = wire.connect(self.daemon, receive_buffer=receive_buffer)
            member.setblocking(False)
            self.members.append(member)
        return self

    def send(self, data):
        """Sends `data` on each connection, as much as its socket takes at once. Returns how many
        connections have not been reset."""
        alive = 0
        for member in self.members:
            with contextlib.suppress(BlockingIOError):
                try:
                    member.send(data)
                except (BrokenPipeError, ConnectionResetError):
                    continue
            alive += 1
        return alive

    def connected(self):
        """How many connections celld has neither closed nor reset, whether or not its answers have
        been read."""
        states = [member.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
                  for member in self.members]
        return sum(state[0] == TCP_ESTABLISHED for state in states)

    def drip(self, byte, seconds, interval_s=1.0):
        """Sends one byte per connection and interval, spread evenly over the interval."""
        until = time.monotonic() + seconds
        slices = 20
        turn = 0
        while (now := time.monotonic()) < until:
            for member in self.members[turn % slices::slices]:
                with contextlib.suppress(OSError):
                    member.send(byte)
            turn += 1
            time.sleep(max(0.0, now + interval_s / slices - time.monotonic()))

    def receive(self, patience_s=10.0):
        """Reads until every connection has ended; returns a Talk for each."""
        received = {member: b"" for member in self.members}
        ends = dict.fromkeys(self.members, wire.OPEN)
        give_up_at = time.monotonic() + patience_s
        with selectors.DefaultSelector() as selector:
            for member in self.members:
                selector.register(member, selectors.EVENT_READ)
            while selector.get_map() and (left := give_up_at - time.monotonic()) > 0:
                for key, _ in selector.select(left):
                    member = key.fileobj
                    try:
                        piece = member.recv(1 << 16)
                    except ConnectionResetError:
                        piece, ends[member] = b"", wire.RESET
                    if piece:
                        received[member] += piece
                        continue
                    selector.unregister(member)
                    if ends[member] == wire.OPEN:
                        ends[member] = wire.CLOSED
        return [wire.Talk(*wire.read_answers(received[member]), ends[member], 0)
                for member in self.members]

    def leave(self):
        for member in self.members:
            member.close()
        self.members = []

    def reset(self):
        for member in self.members:
            wire.reset(member)
        self.members = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.leave()
