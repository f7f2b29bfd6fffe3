//! The pages and the pull-request comment of `cargo nbench`: plain views in, text out.
//! It must not know where a view comes from: no store, no engine, no files, no clock.

mod chart;
mod comment;
mod comparison;
mod history;
mod html;
mod intervals;
mod markdown;
pub mod number;
mod pairs;

pub use comment::{
    COMMENT_LIMIT, CommentFailure, CommentRow, CommentSide, CommentView, Counts, Unmatched,
    comment, marker,
};
pub use comparison::{
    AxisView, ComparedView, ComparisonView, Diagnostics, LaunchView, comparison_page,
};
pub use history::{
    HistoryView, HostSeries, HostView, PairedView, PointView, SeriesView, history_page,
};
pub use markdown::{escape_markdown, is_hidden};
/// What rendering returns when a template is at fault.
pub use minijinja::Error;
