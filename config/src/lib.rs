//! Placeholder opened before the first commit.
