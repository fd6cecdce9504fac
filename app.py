"""qlab: the numerics explorer for quantized ONNX operators. Start with ``streamlit run app.py``."""

import streamlit as st

from qlab.ui.entry import mark

st.set_page_config(page_title="qlab", page_icon="🔢", layout="wide")
mark()
st.navigation(
    [
        st.Page("pages/explore.py", title="Explore", default=True),
        st.Page("pages/versions.py", title="Versions"),
        st.Page("pages/identify.py", title="Identify"),
        st.Page("pages/gallery.py", title="Gallery"),
    ]
).run()
