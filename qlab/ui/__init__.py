"""Streamlit parts that pages share. The only modules of qlab that import streamlit."""
