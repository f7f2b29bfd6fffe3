//! What `cargo nbench` shows: the lines of a result, and pages and the pull-request comment made of
//! them. It must not know where results come from: no store, no engine, no files, no clock.

mod chart;
mod comment;
mod comparison;
mod history;
mod html;
mod intervals;
pub mod lines;
mod markdown;
pub mod number;
mod pairs;

pub use comment::{COMMENT_LIMIT, CommentView, comment, marker};
pub use comparison::{AxisView, ComparedView, ComparisonView, LaunchView, comparison_page};
pub use history::{
    HistoryView, HostSeries, HostView, PairedView, PointView, SeriesView, history_page,
};
pub use markdown::{escape_markdown, is_hidden};
/// Error of rendering when a template is at fault.
pub use minijinja::Error;
