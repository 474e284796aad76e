//! Findings rendered for the terminal, the browser and Markdown.
