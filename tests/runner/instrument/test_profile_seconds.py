"""Seconds that the record has from a profile, where a GPU was profiled."""

from types import SimpleNamespace

import pytest

from runner.instrument.process import totals

torch = pytest.importorskip("torch")


def event(key, *, cpu_us=0.0, device_us=0.0, on_device=False, annotation=False):
    """Return an average as PyTorch's profiler has it; a kernel's time stands with its launch as well."""
    kinds = torch.autograd.DeviceType
    return SimpleNamespace(
        key=key,
        self_cpu_time_total=cpu_us,
        self_device_time_total=device_us,
        device_type=kinds.CUDA if on_device else kinds.CPU,
        is_user_annotation=annotation,
        is_legacy=False,
    )


def test_neither_the_profilers_own_work_nor_ranges_of_kernels_count():
    averages = [
        event("aten::mm", cpu_us=120, device_us=9),
        event("gemm_kernel", device_us=9, on_device=True),
        event("Optimizer.step#SGD.step", cpu_us=80, annotation=True),
        event("Optimizer.step#SGD.step", device_us=30, on_device=True, annotation=True),
        event("Activity Buffer Request", cpu_us=1960),
        event("cudaLaunchKernel", cpu_us=50),
    ]
    found = totals(SimpleNamespace(key_averages=lambda: averages), 2)
    assert found == {
        "total_cpu_time_s": pytest.approx(250e-6),
        "total_cuda_time_s": pytest.approx(9e-6),
        "per_iter_cpu_time_s": pytest.approx(125e-6),
        "per_iter_cuda_time_s": pytest.approx(4.5e-6),
    }
