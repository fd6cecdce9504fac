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
    assert "All codes of A in the outer loop, B in the inner, from the lowest" in html(page)


def test_what_yours_gave_there_is_joined_and_forgotten():
    page = opened(gallery="qlinearadd-off-by-one")
    page.text_area[0].set_value("-87").run()
    field = page.text_input[0]
    assert field.label.startswith("What yours gave for C[0]")
    field.set_value("5 5 5 5 5 5 5 5 5").run()
    assert "9 values are given" in page.error[0].value
    assert not page.exception
    page.text_input[0].set_value("-128").run()
    assert not page.exception
    assert "1 further value of yours is taken into account." in html(page)
    assert "--also apart-1.json there-1.txt" in page.code[0].value
    next(b for b in page.button if b.label == "Forget the further values").click().run()
    assert "taken into account" not in html(page)


def test_values_stay_while_another_page_is_shown():
    page = opened(gallery="qlinearadd-off-by-one")
    page.text_area[0].set_value("-87").run()
    page.switch_page("pages/gallery.py").run()
    page.switch_page("pages/identify.py").run()
    assert page.text_area[0].value == "-87"


def test_several_tensors_can_be_chosen():
    page = opened(gallery="qdq-conv-bias-scale")
    assert not page.exception
    assert page.selectbox[0].label == "Tensor"
