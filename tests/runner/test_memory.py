"""Resident memory with a high-water mark that can be reset."""

import json
import mmap
import os

from runner.process import own_process

MIB = 2**20


def in_child(work):
    """Run `work` in a forked child and return what it returns."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    return json.loads(data)


def touch_and_free():
    """Touch 64 MiB of new pages; the allocator could hand out pages that are resident already."""
    with mmap.mmap(-1, 64 * MIB) as pages:
        for offset in range(0, len(pages), mmap.PAGESIZE):
            pages[offset] = 1


def rise_and_fall():
    """Return the peak before, after an allocation of 64 MiB that is gone, and after a reset."""
    own_process.reset_peak()
    before = own_process.peak_bytes()
    touch_and_free()
    risen = own_process.peak_bytes()
    own_process.reset_peak()
    return [before, risen, own_process.peak_bytes(), own_process.resident_bytes()]


def test_the_peak_is_never_below_the_present_size():
    resident = own_process.resident_bytes()  # first: another thread may take a page between the two
    assert own_process.peak_bytes() >= resident > MIB


def test_the_peak_outlasts_an_allocation_and_can_be_reset_in_a_forked_child():
    """What a model needed while it was built does not count to its steady part."""
    before, risen, after, resident = in_child(rise_and_fall)
    assert 60 * MIB < risen - before < 80 * MIB
    assert after < risen - 50 * MIB
    assert after >= resident - MIB


def test_a_childs_peak_is_its_own():
    """Resetting it does not touch the parent's."""
    touch_and_free()
    mine = own_process.peak_bytes()
    assert in_child(rise_and_fall)[2] < mine
    assert own_process.peak_bytes() >= mine
