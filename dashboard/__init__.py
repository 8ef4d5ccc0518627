"""The Streamlit pages: `app` is their entry, `server` serves them, and `screens` lists them."""
