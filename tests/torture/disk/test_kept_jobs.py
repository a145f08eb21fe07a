"""A graceful shutdown keeps the jobs in memory of a cell that asks for it (`on_stop`) in a file. The
file and its name are on disk before celld ends. The next life takes up the jobs and removes the
file for good."""

import dataclasses
import enum
import itertools
import shutil
import struct
import unittest

from shimmed import ShimmedDaemon, a_config, scratch_directory

HEAD = struct.Struct("=IIqqQ")  # See disk_log.hpp.


class Kind(enum.IntEnum):
    """Of a record; the first ones of RecordKind in disk_log.hpp."""
    START, OPEN, OPEN_DIRECTORY, MAKE_DIRECTORY, WRITE, TRUNCATE, UNLINK, RENAME, SYNC_BEGIN, \
        SYNC_END = range(10)


@dataclasses.dataclass
class Record:
    kind: int
    target: int
    payload: bytes


def read(path):
    with open(path, "rb") as file:
        log = file.read()
    records, at = [], 0
    while at < len(log):
        kind, target, _, _, size = HEAD.unpack_from(log, at)
        at += HEAD.size
        records.append(Record(kind, target, log[at:at + size]))
        at += size
    return records


class KeptJobs(unittest.TestCase):
    def setUp(self):
        directory = scratch_directory()
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        cell = {"durability": "memory", "on_stop": "keep"}
        self.daemon = ShimmedDaemon(a_config(cells=[cell]), directory)

    def keep_a_job(self):
        """Returns what celld did to the disk in a life that ends with a job to keep."""
        self.daemon.start()
        client = self.daemon.quick_client()
        status, job = client.request("POST", "/v1/jobs", {
            "customer": "acme", "product": "dns", "action": "create", "services": ["quick"],
            "entity": {"type": "zone", "id": "e"}, "delay_ms": 3_600_000})
        self.assertEqual(status, 202, job)
        client.close()
        self.assertEqual(self.daemon.stop(), 0, self.daemon.log())
        return read(self.daemon.disk_log)

    def test_the_file_of_kept_jobs_and_its_name_are_on_disk(self):
        records = self.keep_a_job()
        renamed = self.place(records, Kind.RENAME)
        fresh = records[renamed].payload.split(b"\0")[0]
        files = {record.target for record in records[:renamed]
                 if record.kind == Kind.OPEN and record.payload == fresh}
        changed = [index for index, record in enumerate(records[:renamed])
                   if record.kind in (Kind.WRITE, Kind.TRUNCATE) and record.target in files]
        self.assertTrue(changed, "the file was written")
        self.assertTrue(self.synced(records[changed[-1]:renamed], files),
                        "after the last write, and before the file has its name, a sync")
        self.assertTrue(self.synced_directory(records[renamed:]), "a sync of the directory")

    def test_the_file_of_kept_jobs_is_gone_from_the_disk_before_celld_writes_anything(self):
        earlier = len(self.keep_a_job())
        self.daemon.start()
        self.assertEqual(self.daemon.stop(), 0, self.daemon.log())
        records = read(self.daemon.disk_log)[earlier:]
        removed = self.place(records, Kind.UNLINK)
        before_a_write = list(itertools.takewhile(lambda record: record.kind != Kind.WRITE,
                                                  records[removed:]))
        self.assertTrue(self.synced_directory(before_a_write), "a sync of the directory")

    @staticmethod
    def place(records, kind):
        """The index of the only record of this kind that is about the file of kept jobs."""
        index, = [index for index, record in enumerate(records)
                  if record.kind == kind and record.payload.endswith(b".kept")]
        return index

    @staticmethod
    def synced(records, targets):
        return any(record.kind == Kind.SYNC_END and record.target in targets for record in records)

    def synced_directory(self, records):
        return self.synced(records, {record.target for record in records
                                     if record.kind == Kind.OPEN_DIRECTORY})
