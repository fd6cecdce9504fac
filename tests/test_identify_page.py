"""The page Identify by Streamlit's AppTest: an example first, then one's own values, and one line for wrong ones."""

from pathlib import Path

from streamlit.testing.v1 import AppTest  # noqa: TID251

APP = str(Path(__file__).resolve().parent.parent / "app.py")


def opened(**query: str) -> AppTest:
    page = AppTest.from_file(APP, default_timeout=60)
    for key, value in query.items():
        page.query_params[key] = value
    page.run()
    return page.switch_page("pages/identify.py").run()


def html(page: AppTest) -> str:
    return "\n".join(str(element.proto.body) for element in page.get("html"))


def test_it_begins_with_what_onnx_runtime_returned():
    page = opened(gallery="qlinearadd-off-by-one")
    assert not page.exception
    assert "These are the values that ONNX Runtime returned here; give yours instead." in html(page)
    assert "explain the one code" in html(page)
    assert any("identify qlinearadd-off-by-one" in code.value for code in page.code)


def test_ones_own_values():
    page = opened(gallery="qlinearadd-off-by-one")
    page.text_area[0].set_value("int8_t y[] = {-87};").run()
    assert not page.exception
    assert "exact" in html(page)
    assert "give yours instead" not in html(page)
    page.text_area[0].set_value("-3").run()
    assert "No arithmetic here explains it: the one code." in html(page)
    assert "The first that" in html(page)


def test_wrong_values_are_one_line_and_the_page_lives_on():
    page = opened(gallery="qlinearadd-off-by-one")
    page.text_area[0].set_value("1 2 3").run()
    assert not page.exception
    assert "3 values are given; the tensor has 1\\: give that one" in page.error[0].value
    page.text_area[0].set_value("-88").run()
    assert not page.error
    assert "explain the one code" in html(page)


def test_the_input_that_tells_apart_is_opened_in_explore():
    page = opened(gallery="qlinearadd-off-by-one")
    next(b for b in page.button if b.label == "Open that input in Explore").click().run()
    assert not page.exception
    explored = page.session_state["explored"]
    assert explored.address.case.title.startswith("Edited: ")


def test_a_large_case_without_an_example_asks_for_values():
    page = opened(gallery="qlinearadd-off-by-one")
    page.segmented_control[0].set_value("all codes").run()
    assert not page.exception
    assert "C: 65,536 values of int8 (256 × 256)" in html(page)
    assert "All codes of A in the outer loop, B in the inner." in html(page)


def test_several_tensors_can_be_chosen():
    page = opened(gallery="qdq-conv-bias-scale")
    assert not page.exception
    assert page.selectbox[0].label == "Tensor"
