"""Graph facts: what HLO text, generated code and captures say, and that equal programs give equal fingerprints."""

import pytest

from runner.graphs import collect, hlo

DOT = """HloModule IrToHlo.7, entry_computation_layout={(f32[8,32]{1,0})->(f32[8,16]{1,0})}

%Add.1 (x.2: f32[], y.3: f32[]) -> f32[] {
  %x.2 = f32[] parameter(0)
  %y.3 = f32[] parameter(1)
  ROOT %add.4 = f32[] add(f32[] %x.2, f32[] %y.3), metadata={op_name="a, {b}" source_line=3}
}

ENTRY %IrToHlo.7 (p0.1: f32[8,32], p1.2: f32[32,16]) -> (f32[8,16]) {
  %p0.1 = f32[8,32]{1,0} parameter(0)
  %p1.2 = f32[32,16]{1,0} parameter(1)
  %dot.3 = f32[8,16]{1,0} dot(f32[8,32]{1,0} %p0.1, f32[32,16]{1,0} %p1.2), lhs_contracting_dims={1}, RIGHT
  %fusion = f32[8,16]{1,0} fusion(f32[8,16]{1,0} %dot.3), kind=kLoop, calls=%Add.1
  ROOT %tuple.5 = (f32[8,16]{1,0}, /*index=1*/s64[]) tuple(%fusion)
}
""".replace("RIGHT", "rhs_contracting_dims={0}")


def entry(line, *parameters):
    """Return a module of one instruction over parameters of the given shapes."""
    shapes = [f"  %p{n} = {shape} parameter({n})" for n, shape in enumerate(parameters)]
    return "\n".join(["HloModule m", "ENTRY %m () -> f32[] {", *shapes, f"  ROOT %r = {line}", "}"])


def flops(line, *parameters):
    return hlo.flops(list(hlo.instructions(entry(line, *parameters))))


def test_operations_are_counted_by_opcode_and_bookkeeping_is_none():
    found = hlo.graph(DOT, "hlo_optimized")
    assert found.op_histogram == {"add": 1, "dot": 1, "fusion": 1}
    assert (found.ops, found.fusions) == (3, 1)


def test_fusions_are_unknown_before_xla_has_fused():
    assert hlo.graph(DOT, "hlo").fusions is None


def test_a_fingerprint_ignores_names_numbers_and_metadata():
    renamed = DOT.replace("%dot.3", "%dot.93").replace("IrToHlo.7", "SyncTensorsGraph.9").replace("p0.1:", "p0.77:")
    renamed = renamed.replace("%p0.1", "%p0.77").replace(', metadata={op_name="a, {b}" source_line=3}', "")
    assert hlo.fingerprint(renamed) == hlo.fingerprint(DOT)


@pytest.mark.parametrize(
    ("old", "new"),
    [("f32[8,", "f32[4,"), (" dot(", " custom(") , ("lhs_contracting_dims={1}", "lhs_contracting_dims={0}"),
     ("f32[32,16]{1,0} %p1.2)", "f32[32,16]{1,0} %p0.1)")],
)  # fmt: skip
def test_a_fingerprint_sees_shapes_operations_attributes_and_wiring(old, new):
    assert old in DOT
    assert hlo.fingerprint(DOT.replace(old, new)) != hlo.fingerprint(DOT)


def test_a_product_costs_two_flops_per_multiplication():
    assert hlo.graph(DOT, "hlo").flops == 2 * 8 * 16 * 32


@pytest.mark.parametrize(
    ("attributes", "result", "expected"),
    [
        ("window={size=3x3}, dim_labels=bf01_oi01->bf01", "f32[2,8,6,6]", 2 * 2 * 8 * 6 * 6 * 4 * 9),
        # Along an axis of 8 with one value of padding on both sides: 8 windows of 3, of which 2 miss a value.
        ("window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01", "f32[2,8,8,8]", 2 * 2 * 8 * 4 * 22 * 22),
        ("window={size=3x3 stride=2x2}, dim_labels=bf01_oi01->bf01", "f32[2,8,3,3]", 2 * 2 * 8 * 4 * 9 * 9),
    ],
)
def test_a_convolution_costs_its_valid_products(attributes, result, expected):
    """Padding is multiplied by nothing, in XLA's own count too."""
    line = f"{result}{{3,2,1,0}} convolution(%p0, %p1), {attributes}"
    assert flops(line, "f32[2,4,8,8]{3,2,1,0}", "f32[8,4,3,3]{3,2,1,0}") == expected


def test_a_grouped_convolution_costs_its_group_only():
    line = "f32[2,8,6,6]{3,2,1,0} convolution(%p0, %p1), window={size=3x3}, dim_labels=bf01_oi01->bf01"
    grouped = flops(f"{line}, feature_group_count=4", "f32[2,4,8,8]", "f32[8,1,3,3]")
    assert grouped == 2 * 2 * 8 * 6 * 6 * 9


def test_work_that_the_text_hides_makes_the_flops_unknown():
    """A library's product is a custom call: zero would be a lie."""
    assert flops('f32[8]{0} custom-call(%p0), custom_call_target="matmul"', "f32[8]{0}") is None


def test_bytes_are_what_the_entry_reads_and_writes():
    """Product: 8·32 + 32·16 in, 8·16 out; the fusion: 8·16 in and out; four bytes each."""
    assert hlo.graph(DOT, "hlo_optimized").bytes_accessed == 4 * (256 + 512 + 128 + 128 + 128)


@pytest.mark.parametrize(
    ("shape", "size"),
    [("f32[2,3]{1,0}", 24), ("pred[5]", 5), ("bf16[4]{0}", 8), ("c64[2]", 16), ("f8e4m3fn[3]", 3), ("s64[]", 8),
     ("(f32[2]{0}, /*index=1*/s8[3]{0})", 11)],
)  # fmt: skip
def test_a_type_has_a_size(shape, size):
    assert hlo.size_bytes(shape) == size


GENERATED = '''# AOT ID: ['0_inference']
cpp_fused_relu_0 = async_compile.cpp_pybinding(["float*"], """void kernel() { call(1); }""")
triton_poi_fused_add_1 = async_compile.triton("x", """""")

def call(args):
    arg0_1, = args
    extern_kernels.addmm(arg0_1, arg0_1, out=buf0)
    cpp_fused_relu_0(buf0)
    cpp_fused_relu_0(buf0)
    triton_poi_fused_add_1.run(buf0, 4)
    buf3 = torch.ops.aten.convolution.default(buf0)
    return (buf0, )
'''


def test_generated_code_is_its_calls_and_its_kernels():
    (found,) = collect.describe([GENERATED, "just_a_kernel = 1"])
    assert found.op_histogram == {
        "addmm": 1, "convolution.default": 1, "cpp_fused_relu": 2, "triton_poi_fused_add": 1
    }  # fmt: skip
    assert (found.ops, found.fusions, found.kind) == (5, 2, "inductor")


def test_a_comment_changes_no_fingerprint_of_generated_code():
    one, other = collect.describe([GENERATED, GENERATED.replace("'0_inference'", "'3_inference'")])
    assert one.fingerprint == other.fingerprint


torch = pytest.importorskip("torch")


def captured(function, *arguments):
    """Capture a function with dynamo and return its graphs."""
    torch._dynamo.reset()
    collect.forget_dynamo()
    collect.watch_dynamo()
    torch.compile(function, backend="eager")(*arguments)
    return collect.captured()


def test_dynamos_captures_are_counted_by_operation():
    (found,) = captured(lambda x: torch.relu(x @ x) + 1, torch.ones(2, 2))
    assert (found.kind, found.ops, found.op_histogram) == ("fx", 3, {"add": 1, "matmul": 1, "relu": 1})


def test_equal_captures_have_equal_fingerprints():
    def program(x):
        return torch.relu(x).sum(dim=0)

    def same(other_name):
        return torch.relu(other_name).sum(dim=0)

    def different(x):
        return torch.relu(x).sum(dim=1)

    base = captured(program, torch.ones(2, 3))[0].fingerprint
    assert captured(same, torch.ones(2, 3))[0].fingerprint == base
    assert captured(different, torch.ones(2, 3))[0].fingerprint != base
    assert captured(program, torch.ones(4, 3))[0].fingerprint != base


def test_a_graph_break_shows_as_two_graphs():
    def broken(x):
        x = torch.relu(x)
        torch._dynamo.graph_break()
        return x + 1

    assert [each.op_histogram for each in captured(broken, torch.ones(2))] == [{"relu": 1}, {"add": 1}]
