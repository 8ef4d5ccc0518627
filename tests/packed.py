"""Files as people pack them: by gzip or zstd."""

import gzip
from pathlib import Path

import pyarrow as pa


def pack(path: Path, content: bytes) -> None:
    """Write content packed, as the ending of the name says."""
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(content))
        return
    with pa.output_stream(str(path), compression="zstd") as stream:
        stream.write(content)


def pack_results(folder: Path, suffix: str = ".zst") -> None:
    """Put a packed file in the place of a run's results."""
    plain = folder / "results.jsonl"
    pack(plain.with_name(plain.name + suffix), plain.read_bytes())
    plain.unlink()
