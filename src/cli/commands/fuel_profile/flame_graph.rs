//! The flame graph of a profile: one SVG without scripts and without references.
//!
//! Each box is a function; its width is the fuel of the function and of those that it called, which
//! stand on top of it. The order from left to right is that of their fuel and says nothing about time.
//!
//! INVARIANT(inert-flame-graph): names are the guest's. They stand in the file as text and nowhere
//! else, with every character escaped that XML gives a meaning.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::cli::commands::fuel_profile::sums::{percentage, place, with_callees, with_commas};
use crate::cli::commands::xml::escaped;
use crate::cli::terminal::output::shown;
use wardian_formats::job::profile::{FuelProfile, FunctionOrigin, ProfiledFunction};

/// Sizes in hundredths of a pixel, in which the graph is laid out without fractions.
const WIDTH: u64 = 120_000;
const MARGIN: u64 = 1_200;
const ROW: u64 = 1_900;
const TOP: u64 = 6_600;
const BOTTOM: u64 = 3_400;
/// Narrower boxes are left out: nobody would see them.
const NARROWEST: u64 = 15;
/// The width of a letter of the font.
const LETTER: u64 = 662;
/// The room between the side of a box and its name.
const PADDING: u64 = 400;

/// Draws the flame graph. `program` is its title.
pub(crate) fn flame_graph(profile: &FuelProfile, program: &str) -> String {
    let boxes = boxes(profile, program);
    let rows = boxes.iter().map(|one| one.row).max().unwrap_or(0).saturating_add(1);
    let height = rows.saturating_mul(ROW).saturating_add(TOP).saturating_add(BOTTOM);
    let mut svg = head(profile, program, height);
    let floor = height.saturating_sub(BOTTOM);
    for one in &boxes {
        draw(&mut svg, one, floor);
    }
    legend(&mut svg, height);
    svg.push_str("</svg>\n");
    svg
}

/// A box of the graph.
#[derive(Debug)]
struct FlameBox {
    x: u64,
    width: u64,
    /// Its row, counted from below.
    row: u64,
    /// The name in the box.
    label: String,
    /// More, for a pointer that stays on it.
    title: String,
    colour: String,
}

/// Lays out the boxes.
fn boxes(profile: &FuelProfile, program: &str) -> Vec<FlameBox> {
    let totals = with_callees(profile);
    let fuel = profile.fuel().0;
    let inner = WIDTH.saturating_sub(2 * MARGIN);
    let scaled = |part: u64| {
        let scaled = u128::from(part).saturating_mul(u128::from(inner));
        u64::try_from(scaled.checked_div(u128::from(fuel)).unwrap_or(0)).unwrap_or(inner)
    };
    let mut callees: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (at, call) in profile.calls.iter().enumerate() {
        callees.entry(call.caller).or_default().push(at);
    }
    let total = |at: &usize| totals.get(*at).copied().unwrap_or_default();
    let mut found = vec![FlameBox {
        x: MARGIN,
        width: inner,
        row: 0,
        label: format!("all of {}", shown(program)),
        title: format!("all of {}\n{} units of fuel", shown(program), with_commas(fuel)),
        colour: GREY.to_owned(),
    }];
    // Calls whose callees have no boxes yet, each with the fuel on the left of it.
    let mut pending = vec![(None, 0_u64, 1_u64)];
    while let Some((caller, start, row)) = pending.pop() {
        let mut below = callees.remove(&caller).unwrap_or_default();
        below.sort_by_key(|at| (Reverse(total(at)), *at));
        let mut start = start;
        for at in below {
            let end = start.saturating_add(total(&at));
            let (x, width) = (scaled(start), scaled(end).saturating_sub(scaled(start)));
            let call = profile.calls.get(at);
            let function = call.and_then(|call| profile.functions.get(call.function));
            if let (Some(call), Some(function)) = (call, function)
                && width >= NARROWEST
            {
                let x = x.saturating_add(MARGIN);
                let title = title(function, (total(&at), call.fuel.0, fuel), call.samples);
                let (label, colour) = (shown(&function.name), colour(function));
                found.push(FlameBox { x, width, row, label, title, colour });
                pending.push((Some(at), start, row.saturating_add(1)));
            }
            start = end;
        }
    }
    found
}

fn title(function: &ProfiledFunction, (total, own, fuel): (u64, u64, u64), samples: u64) -> String {
    let name = shown(&function.name);
    let place = shown(&place(function));
    let place = if place.is_empty() { place } else { format!(" ({place})") };
    format!(
        "{name}{place}\n{} % of the fuel: {} units\nof these itself: {} units, {} samples",
        percentage(total, fuel),
        with_commas(total),
        with_commas(own),
        with_commas(samples)
    )
}

const GREY: &str = "hsl(220 9% 80%)";

/// A colour that says whose the function is, in a shade of its own that is always the same.
fn colour(function: &ProfiledFunction) -> String {
    let bytes = function.name.bytes().chain(function.file.bytes());
    let mix =
        bytes.fold(0x811c_9dc5_u32, |mix, byte| (mix ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let (turn, light) = (mix >> 8 & 31, mix >> 16 & 7);
    match function.origin() {
        FunctionOrigin::Program => {
            format!("hsl({} 88% {}%)", 18_u32.saturating_add(turn), 63_u32.saturating_add(light))
        }
        FunctionOrigin::Library => {
            format!("hsl({} 48% {}%)", 186_u32.saturating_add(turn), 70_u32.saturating_add(light))
        }
        FunctionOrigin::Runner | FunctionOrigin::NoFunction => GREY.to_owned(),
    }
}

fn head(profile: &FuelProfile, program: &str, height: u64) -> String {
    let (width, height) = (pixels(WIDTH), pixels(height));
    let facts = format!(
        "{} units of fuel in {} samples, one for each {} units",
        with_commas(profile.fuel().0),
        with_commas(profile.samples()),
        with_commas(profile.interval.0)
    );
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\">\n\
         <style>text{{font:11px ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;\
         fill:#1c1f26}}.h{{font:600 17px system-ui,\"Segoe UI\",\"DejaVu Sans\",sans-serif}}\
         .s{{font:12px system-ui,\"Segoe UI\",\"DejaVu Sans\",sans-serif;fill:#5b6270}}\
         g:hover rect{{stroke:#1c1f26;stroke-width:1}}g text{{pointer-events:none}}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text class=\"h\" x=\"12\" y=\"28\">Fuel by function: {}</text>\n\
         <text class=\"s\" x=\"12\" y=\"48\">{}</text>\n",
        escaped(&shown(program)),
        escaped(&facts)
    )
}

fn draw(svg: &mut String, one: &FlameBox, floor: u64) {
    let above = one.row.saturating_add(1).saturating_mul(ROW);
    let y = floor.saturating_sub(above);
    // A hair of white between boxes, if they have the room.
    let width = if one.width > 200 { one.width.saturating_sub(60) } else { one.width };
    let mut drawn = format!(
        "<g><title>{}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\" \
         fill=\"{}\"/>",
        escaped(&one.title),
        pixels(one.x),
        pixels(y),
        pixels(width),
        pixels(ROW.saturating_sub(100)),
        one.colour
    );
    if let Some(label) = fitted(&one.label, width) {
        let (x, y) = (one.x.saturating_add(PADDING), y.saturating_add(1_280));
        let (x, y) = (pixels(x), pixels(y));
        // Writing to a string cannot fail.
        write!(drawn, "<text x=\"{x}\" y=\"{y}\">{}</text>", escaped(&label)).ok();
    }
    svg.push_str(&drawn);
    svg.push_str("</g>\n");
}

/// The name as far as it fits into a box of this width; `None` if too little of it does.
fn fitted(label: &str, width: u64) -> Option<String> {
    const FEWEST: u64 = 3;
    let room = width.saturating_sub(2 * PADDING) / LETTER;
    // Letters that are not Latin may be twice as wide.
    let wide = |letter: char| if u32::from(letter) < 0x250 { 1 } else { 2 };
    let needed: u64 = label.chars().map(wide).sum();
    if needed <= room {
        return Some(label.to_owned());
    }
    if room < FEWEST {
        return None;
    }
    let mut left = room.saturating_sub(1);
    let fitting = label.chars().take_while(|letter| {
        let fits = wide(*letter) <= left;
        left = left.saturating_sub(wide(*letter));
        fits
    });
    Some(fitting.chain(['…']).collect())
}

/// The meaning of the colours.
fn legend(svg: &mut String, height: u64) {
    let y = height.saturating_sub(1_300);
    let mut x = MARGIN;
    for (name, colour) in [
        ("program and skills", "hsl(30 88% 66%)"),
        ("library and packages", "hsl(200 48% 73%)"),
        ("Wardian, no function", GREY),
    ] {
        let (box_x, text_x) = (pixels(x), pixels(x.saturating_add(1_700)));
        let (box_y, text_y) = (pixels(y.saturating_sub(950)), pixels(y));
        // Writing to a string cannot fail.
        writeln!(
            svg,
            "<rect x=\"{box_x}\" y=\"{box_y}\" width=\"12\" height=\"12\" rx=\"2\" \
             fill=\"{colour}\"/><text class=\"s\" x=\"{text_x}\" y=\"{text_y}\">{name}</text>"
        )
        .ok();
        x = x.saturating_add(18_000);
    }
}

/// Hundredths of a pixel as a number of pixels.
fn pixels(hundredths: u64) -> String {
    match (hundredths / 100, hundredths % 100) {
        (whole, 0) => whole.to_string(),
        (whole, rest) => format!("{whole}.{rest:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::commands::fuel_profile::testing::{LOADS, MODULE, WORK, profile};

    /// The numbers of an attribute of all boxes, in hundredths.
    fn numbers(svg: &str, attribute: &str) -> Vec<u64> {
        let boxes = svg.lines().filter(|line| line.starts_with("<g>"));
        let values = boxes.map(|line| {
            let (_, rest) = line.split_once("<rect x=\"").unwrap();
            let rest = format!(" x=\"{rest}");
            let (_, value) = rest.split_once(&format!(" {attribute}=\"")).unwrap();
            let (value, _) = value.split_once('"').unwrap();
            let (whole, part) = value.split_once('.').unwrap_or((value, "00"));
            whole.parse::<u64>().unwrap() * 100 + part.parse::<u64>().unwrap()
        });
        values.collect()
    }

    #[test]
    fn boxes_are_as_wide_as_their_fuel_and_stand_on_their_callers() {
        let svg = flame_graph(
            &profile(&[
                (&[("(start of the run)", "", 0)], 250, 2),
                (&[MODULE], 250, 1),
                (&[MODULE, WORK], 100, 3),
                (&[MODULE, WORK, LOADS], 400, 2),
            ]),
            "main.py",
        );
        let names = |line: &str| {
            line.split_once("<title>")
                .map(|(_, rest)| rest.split("&#10;").next().unwrap().to_owned())
        };
        let found: Vec<_> = svg.lines().filter_map(names).collect();
        assert_eq!(
            found,
            [
                "all of main.py",
                "&lt;module&gt; (main.py:1)",
                "(start of the run)",
                "Table.work (main.py:7)",
                "loads (json/__init__.py:299)"
            ]
        );
        let (x, y) = (numbers(&svg, "x"), numbers(&svg, "y"));
        assert_eq!(x[0..2], [MARGIN, MARGIN]);
        assert_eq!(x[2], MARGIN + (WIDTH - 2 * MARGIN) * 3 / 4);
        assert_eq!((y[0] - y[1], y[1], y[1] - y[3]), (ROW, y[2], ROW));
        let width = numbers(&svg, "width");
        assert_eq!(width[1] + 60, (WIDTH - 2 * MARGIN) * 3 / 4);
        assert_eq!(width[4] + 60, (WIDTH - 2 * MARGIN) * 2 / 5);
        assert!(svg.contains("40.0 % of the fuel: 400 units"), "{svg}");
    }

    /// A strict reader finds the elements that were drawn, and no other.
    #[test]
    fn an_inert_flame_graph_has_no_element_from_a_name() {
        let hostile = [
            "</title><script>alert(1)</script>",
            "\" onload=\"alert(1)",
            "' onload='alert(1)",
            "]]><![CDATA[<script>",
            "<!--",
            "&amp;&#x3c;script&#x3e;",
            "\u{0}\u{1b}[2J\u{ffff}\u{fffe}\u{202e}",
            "<?xml?><!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]>&b;",
        ];
        for name in hostile {
            let stack = [(name, name, 1)];
            let svg = flame_graph(&profile(&[(&stack, 100, 1)]), name);
            let calm = svg.replace("<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "");
            let allowed = ["svg", "style", "rect", "text", "g", "title"];
            for tag in calm.split('<').skip(1) {
                let tag = tag.trim_start_matches('/');
                let word = tag.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap();
                assert!(allowed.contains(&word), "{name}: {tag}");
                let (inside, _) = tag.split_once('>').unwrap();
                assert!(!inside.contains("onload") && !inside.contains('\''), "{name}: {inside}");
            }
            assert!(!svg.contains(['\u{0}', '\u{1b}', '\u{ffff}', '\u{202e}']), "{name}");
            let entities = calm.split('&').skip(1);
            for entity in entities {
                let known = ["amp;", "lt;", "gt;", "quot;", "apos;", "#10;"];
                assert!(known.iter().any(|one| entity.starts_with(one)), "{name}: {entity}");
            }
        }
    }

    #[test]
    fn names_are_cut_to_their_boxes() {
        let width = |letters: u64| 2 * PADDING + letters * LETTER;
        for (letters, expected) in [
            (9, Some("rechne")),
            (6, Some("rechne")),
            (5, Some("rech…")),
            (3, Some("re…")),
            (2, None),
            (0, None),
        ] {
            assert_eq!(fitted("rechne", width(letters)).as_deref(), expected, "{letters}");
        }
        assert_eq!(fitted("语言语言", width(5)).as_deref(), Some("语言…"));
    }

    #[test]
    fn a_profile_of_nothing_and_one_of_too_much_are_drawn() {
        assert!(flame_graph(&profile(&[]), "a").ends_with("</svg>\n"));
        let names: Vec<String> = (0..10_000).map(|number| format!("f{number}")).collect();
        let stacks: Vec<_> = names.iter().map(|name| [(name.as_str(), "main.py", 1)]).collect();
        let mut stacks: Vec<_> = stacks.iter().map(|stack| (&stack[..], 1, 1)).collect();
        stacks[0].1 = u64::MAX;
        let svg = flame_graph(&profile(&stacks), "a");
        assert_eq!(svg.lines().filter(|line| line.starts_with("<g>")).count(), 2);
    }
}
