//! A run as a picture.

use super::trace::{Span, Trace};
use std::collections::HashMap;
use std::fmt::Write;
use std::time::Duration;

const WIDTH: f64 = 1200.0;
/// Left of the bars.
const MARGIN: f64 = 90.0;
const ROW: f64 = 26.0;
const AXIS: f64 = 30.0;

/// Colours that differ also for those who see fewer of them (Okabe and Ito, 2008).
const COLOURS: [&str; 7] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];

impl Trace {
    /// A Gantt chart in SVG: a row for each worker, a bar for each body, with its name and times in
    /// a tool tip. Bodies whose names are alike up to the first bracket, digit or space have one
    /// colour.
    pub fn to_svg(&self) -> String {
        let rows = self.rows();
        let height = ROW.mul_add(small(rows.len()), AXIS);
        let whole = self.whole.as_secs_f64().max(1e-9);
        let scale = (WIDTH - MARGIN) / whole;
        // (Nothing fails that writes into a string.)
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
        );
        let mut kinds = HashMap::new();
        for (at, (worker, spans)) in rows.iter().enumerate() {
            let y = ROW * small(at);
            let name = worker.map_or("elsewhere".to_owned(), |worker| format!("worker {worker}"));
            _ = writeln!(svg, "<text x=\"6\" y=\"{}\" fill=\"#222\">{name}</text>", y + 17.0);
            for span in spans {
                bar(&mut svg, span, colour(&mut kinds, &span.name), y, scale);
            }
        }
        axis(&mut svg, ROW * small(rows.len()), self.whole);
        svg.push_str("</svg>\n");
        svg
    }
}

fn bar(svg: &mut String, span: &Span, colour: &str, y: f64, scale: f64) {
    let x = span.begin.as_secs_f64().mul_add(scale, MARGIN);
    // Wide enough to be seen.
    let width = ((span.end - span.begin).as_secs_f64() * scale).max(0.4);
    let name = escaped(&span.name);
    _ = write!(
        svg,
        "<g><title>{name}: {:?} to {:?}</title><rect x=\"{x:.2}\" y=\"{:.1}\" width=\"{width:.2}\" height=\"{:.1}\" \
         fill=\"{colour}\" stroke=\"#fff\" stroke-width=\"0.3\"/>",
        span.begin,
        span.end,
        y + 3.0,
        ROW - 6.0
    );
    if width > 7.5 * small(span.name.chars().count()) {
        _ = write!(svg, "<text x=\"{:.2}\" y=\"{:.1}\" fill=\"#000\">{name}</text>", x + 3.0, y + 17.0);
    }
    svg.push_str("</g>\n");
}

fn axis(svg: &mut String, y: f64, whole: Duration) {
    const PARTS: u32 = 5;
    for part in 0..=PARTS {
        let at = whole * part / PARTS;
        let x = f64::from(part).mul_add((WIDTH - MARGIN) / f64::from(PARTS), MARGIN);
        let anchor = if part == PARTS { "end" } else { "middle" };
        _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"0\" x2=\"{x:.1}\" y2=\"{:.1}\" stroke=\"#0002\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" fill=\"#222\" text-anchor=\"{anchor}\">{at:.1?}</text>",
            y + 4.0,
            y + 20.0
        );
    }
}

/// The colour of names of this kind.
fn colour<'a>(kinds: &mut HashMap<&'a str, usize>, name: &'a str) -> &'static str {
    let end = name.find(|c: char| c.is_ascii_digit() || "([{ <".contains(c)).unwrap_or(name.len());
    let next = kinds.len();
    COLOURS[*kinds.entry(&name[..end]).or_insert(next) % COLOURS.len()]
}

/// A count as a length.
fn small(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}

/// As text of XML, which has no place for most characters of control, nor for two others.
fn escaped(text: &str) -> String {
    let is_strange = |c: char| (c < ' ' && !"\t\n\r".contains(c)) || matches!(c, '\u{fffe}' | '\u{ffff}');
    let text = text.replace(is_strange, "\u{fffd}");
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
