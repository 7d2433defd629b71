//! Whether the text of a Python file is that of a program or of a module.

/// Calls that modules make when they are imported.
const OF_MODULES: [&str; 9] = [
    "sys.path.",
    "warnings.",
    "logging.",
    "matplotlib.use",
    "matplotlib.rc",
    "plt.rc",
    "pd.set_option",
    "load_dotenv",
    "random.seed",
];

/// True for a text with a guard for what is done only in a program. A guard that does nothing but raise an error says
/// that the file is a module; `SystemExit` is the end of a program.
pub(super) fn has_guard(text: &str) -> bool {
    let is_guard = |line: &&str| {
        line.starts_with("if") && line.contains("__name__") && line.contains("__main__")
    };
    let Some(guard) = top_lines(text).find(is_guard) else { return false };
    let behind = text.split_once(guard).map_or("", |(_, behind)| behind);
    let mut done = behind.lines().map(str::trim).filter(|line| !line.is_empty());
    !done.next().is_some_and(|first| first.starts_with("raise") && !ends_program(first))
}

/// True for a line that raises the end of a program: `raise SystemExit(main())`.
fn ends_program(line: &str) -> bool {
    line.strip_prefix("raise").is_some_and(|rest| rest.trim_start().starts_with("SystemExit"))
}

/// True for a text with a first line for a shell.
pub(super) fn has_shell_line(text: &str) -> bool {
    text.starts_with("#!")
}

/// True for a text that calls something, or loops, outside of functions and classes.
pub(super) fn does_something(text: &str) -> bool {
    top_lines(text).any(|line| {
        let word = line.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.').next();
        let word = word.unwrap_or_default();
        let rest = line.get(word.len()..).unwrap_or_default();
        match word {
            "for" | "while" | "with" => true,
            "raise" => ends_program(line),
            "" | "if" | "elif" => false,
            _ => rest.starts_with('(') && !OF_MODULES.iter().any(|of| word.starts_with(of)),
        }
    }) || text.contains("sys.argv")
}

/// The lines that begin a statement outside of functions, classes and blocks, as far as that shows without
/// a parser: those that begin at the margin and not within a text of several lines.
fn top_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut inside: Option<&str> = None;
    text.lines().filter(move |line| {
        let is_top = inside.is_none()
            && line.starts_with(|first: char| first.is_alphabetic() || first == '_');
        let mut rest = *line;
        while let Some((at, mark)) = next_mark(rest, inside) {
            inside = if inside.is_some() { None } else { Some(mark) };
            rest = rest.get(at + mark.len()..).unwrap_or_default();
        }
        is_top
    })
}

/// The place of the next mark at which a text of several lines begins, or ends if the place is `inside` one. A `#` in
/// a text in quotes is taken for a comment, which only hides marks behind it.
///
/// It looks no further than to the mark, so that the time for a line grows with its length.
fn next_mark(line: &str, inside: Option<&str>) -> Option<(usize, &'static str)> {
    const MARKS: [&str; 2] = ["\"\"\"", "'''"];
    for (at, _) in line.match_indices(['"', '\'', '#']) {
        let rest = line.get(at..)?;
        if rest.starts_with('#') && inside.is_none() {
            return None;
        }
        let mark = MARKS.into_iter().find(|mark| rest.starts_with(mark));
        if let Some(mark) = mark.filter(|mark| inside.is_none_or(|inside| inside == *mark)) {
            return Some((at, mark));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_are_found_in_their_usual_forms() {
        for text in [
            "if __name__ == '__main__':\n    main()",
            "x = 1\nif __name__ == \"__main__\": main()",
            "if (__name__ == '__main__'):\n    main()",
            "if '__main__' == __name__:\n    main()",
            "if __name__ == '__main__':\n    raise SystemExit(main())\n",
        ] {
            assert!(has_guard(text), "{text}");
        }
        for text in [
            "",
            "def f():\n    if __name__ == '__main__':\n        pass",
            "\"\"\"\nif __name__ == '__main__':\n\"\"\"\n",
            "# if __name__ == '__main__':",
            "if __name__ == '__main__':\n\n    raise RuntimeError('a module')\n",
        ] {
            assert!(!has_guard(text), "{text}");
        }
    }

    #[test]
    fn a_line_of_marks_is_read_once() {
        // Reading the rest of the line for each mark would take minutes.
        let text = format!("x = {}\nmain()\n", "\"\"\"".repeat(2_000_000));
        assert!(does_something(&text));
    }

    #[test]
    fn what_is_done_at_the_margin_makes_a_program() {
        for text in [
            "print('x')",
            "import a\na.b.run()\n",
            "for x in y:\n    f(x)",
            "with open('x') as f:\n    pass",
            "path = sys.argv[1]",
            "'''doc\n'''\nmain()",
            "x = '''a''' + '''b'''\nmain()",
            "raise SystemExit(main())",
        ] {
            assert!(does_something(text), "{text}");
        }
        for text in [
            "",
            "import a\nfrom b import c\nX = f()\ndef g():\n    run()\nclass C(D):\n    pass\n",
            "\"\"\"doc\nrun()\n\"\"\"",
            "sys.path.insert(0, 'x')\nwarnings.filterwarnings('ignore')\nlogging.basicConfig()\n",
            "@decorated(1)\ndef f():\n    pass",
            "if TYPE_CHECKING:\n    import x\n",
            "if(x):\n    pass",
            "raise ImportError('not for this version')",
        ] {
            assert!(!does_something(text), "{text}");
        }
    }
}
