"""Views: results as HTML, LaTeX and plain data for the page. No Streamlit, and no arithmetic of operators."""
