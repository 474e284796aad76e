//! Numbers in; interval or verdict out.
