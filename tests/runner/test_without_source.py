"""What a record of a user's own model says of errors: places by base name, and no line of the source."""

import traceback

import msgspec

from runner.schedule.records import without_source
from runner.settings import OwnModel
from tests.store.factory import make_record

DYNAMO = (
    'Unsupported: call\n\nfrom user code:\n   File "{}", line 9, in forward\n    return secret(x)\n\nSet TORCH_LOGS'
)


def test_frames_of_the_source_lose_their_text_and_their_folder(tmp_path):
    place = tmp_path / "net.py"
    place.write_text("def forward(x):\n    return x.secret\n")
    names: dict = {}
    exec(compile(place.read_text(), str(place), "exec"), names)
    try:
        names["forward"](msgspec.json.decode(b"3"))
    except AttributeError:
        said = traceback.format_exc()
    assert "return x.secret\n" in said
    record = make_record(status="run_error", per_iter=(), message=DYNAMO.format(place))
    record.error.traceback = said
    record.warnings = [f"{tmp_path}/weights.bin is large"]
    own = OwnModel(name="net.py:Net@0", form="file", place=str(place), sha256="0")
    kept = without_source(record, own)
    assert kept.error.message == DYNAMO.format("./own/net.py").replace("return secret(x)", "<source>")
    assert 'File "./own/net.py", line 2, in forward\n    <source>\nAttributeError' in kept.error.traceback
    assert str(tmp_path) not in kept.error.traceback
    assert kept.warnings == ["./own/weights.bin is large"]
    assert msgspec.structs.replace(kept, error=None, warnings=[], metrics={}) == msgspec.structs.replace(
        record, error=None, warnings=[], metrics={}
    )
