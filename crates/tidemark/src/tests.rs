//! Tests of the table of commands: its help, and the commands and flags that the manual names.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::{Arg, Command, CommandFactory, error::ErrorKind};

#[test]
fn the_table_of_commands_is_sound() {
    let mut table = super::Arguments::command();
    table.build();
    check(&table, &[]);
    table.debug_assert();
}

/// A flag of a noun would hide a flag of a verb with the same name.
fn check(command: &Command, above: &[String]) {
    let flags = || command.get_arguments().filter(|flag| !flag.is_positional() && flag.is_global_set());
    for argument in command.get_arguments().filter(|argument| !argument.is_global_set()) {
        assert!(!above.contains(&argument.get_id().to_string()), "{}: {argument}", command.get_name());
    }
    let shared: Vec<_> = above.iter().cloned().chain(flags().map(|flag| flag.get_id().to_string())).collect();
    command.get_subcommands().for_each(|verb| check(verb, &shared));
}

#[test]
fn each_command_is_in_one_group_of_the_help() {
    let table = super::Arguments::command();
    let mut grouped: Vec<_> = super::GROUPS.iter().flat_map(|group| group.commands).copied().collect();
    assert!(super::COMMON.commands.iter().all(|name| grouped.contains(name)));
    grouped.sort_unstable();
    let mut names: Vec<_> = visible(&table).map(Command::get_name).collect();
    names.sort_unstable();
    assert_eq!(grouped, names);
}

/// `-h` fits on a terminal, and no line of `--help` is wider than one.
#[test]
fn the_help_fits_on_a_terminal() {
    let table = super::Arguments::command();
    let mut table = super::help::add(table, &super::GROUPS, &super::COMMON, &super::EXAMPLES);
    let (short, long) = (table.render_help().to_string(), table.render_long_help().to_string());
    assert!(short.lines().count() <= 24, "{short}");
    for line in short.lines().chain(long.lines()) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let is_shown = |text: &str, name: &str| text.lines().any(|line| line.starts_with(&format!("  {name} ")));
    for name in visible(&super::Arguments::command()).map(Command::get_name) {
        assert!(is_shown(&long, name), "{name}: {long}");
        assert_eq!(is_shown(&short, name), super::COMMON.commands.contains(&name), "{name}: {short}");
    }
    for text in [&short, &long] {
        assert!(text.contains("\nExamples:\n") && text.contains("--help"), "{text}");
    }
    assert!(long.contains("\nMeasure:\n") && long.contains("\nOther:\n"), "{long}");
}

/// The manual documents every visible command, variable and verb.
#[test]
fn the_manual_is_complete() {
    let manual = concat!(
        include_str!("../../../docs/cli.md"),
        include_str!("../../../docs/ci.md"),
        include_str!("../../../docs/runner.md"),
    );
    let mut table = super::Arguments::command();
    table.build();
    let mut missing = Vec::new();
    for command in visible(&table) {
        let name = command.get_name();
        let row = manual.lines().find(|line| {
            let first = line.strip_prefix('|').and_then(|line| line.split('|').next());
            first.is_some_and(|cell| cell.contains(&format!("`{name}`")))
        });
        let has_section =
            manual.contains(&format!("`tidemark {name}")) || manual.contains(&format!("\ntidemark {name} "));
        match row {
            Some(row) => {
                let verbs = visible(command).map(Command::get_name);
                let is_missing =
                    |verb: &&str| !row.contains(&format!("`{verb}")) && !row.contains(&format!(" {verb}`"));
                missing.extend(verbs.filter(is_missing).map(|verb| format!("{name} {verb}")));
            }
            None if has_section => {}
            None => missing.push(name.to_owned()),
        }
        let variables = command.get_arguments().filter_map(|argument| argument.get_env()?.to_str());
        missing.extend(variables.filter(|name| !manual.contains(name)).map(str::to_owned));
        missing.extend(unnamed_flags(command, manual));
    }
    assert_eq!(missing, Vec::<String>::new());
}

/// Returns the flags of a command and of its verbs that the manual does not name.
fn unnamed_flags(command: &Command, manual: &str) -> Vec<String> {
    let is_named = |flag: &str| {
        let mut ends =
            manual.match_indices(flag).map(|(start, _)| manual[start + flag.len()..].chars().next());
        ends.any(|next| !next.is_some_and(|next| next == '-' || next.is_alphanumeric()))
    };
    let flags = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let flags = flags.filter_map(Arg::get_long).filter(|flag| !["help", "version"].contains(flag));
    let unnamed = flags.map(|flag| format!("--{flag}")).filter(|flag| !is_named(flag));
    let unnamed = unnamed.map(|flag| format!("{} {flag}", command.get_bin_name().unwrap_or_default()));
    unnamed.chain(visible(command).flat_map(|verb| unnamed_flags(verb, manual))).collect()
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help")
}

/// Every `tidemark` command in a code block or a code span of the manual has known verbs and flags. In a code block, its values are
/// valid, too, unless the line is abbreviated with an ellipsis.
#[test]
fn the_manual_has_only_valid_commands() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md"), root.join("CONTRIBUTING.md"), root.join("ARCHITECTURE.md")];
    collect_pages(&root.join("docs"), &mut pages);
    let (mut commands, mut wrong) = (0, Vec::new());
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let name = page.strip_prefix(&root).unwrap().display();
        for (line, source, is_block) in snippets(&text) {
            for words in commands_of(&source) {
                commands += 1;
                if let Some(reason) = problem(&words, is_block) {
                    wrong.push(format!("{name}:{line}: `{}`: {reason}", words.join(" ")));
                }
            }
        }
    }
    assert!(commands > 100, "only {commands} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn commands_are_found_between_other_words() {
    let found = |line: &str| commands_of(line).into_iter().map(|words| words.join("|")).collect::<Vec<_>>();
    assert_eq!(found("$ A=1 time tidemark run \"cargo bench\" | tee x"), ["tidemark|run|cargo bench"]);
    assert_eq!(
        found("key=$(tidemark admin create --email a@b.org) # tidemark x"),
        ["tidemark|admin|create|--email|a@b.org"]
    );
    assert_eq!(
        found("- run: tidemark run --file x > y 2>&1 || tidemark open &"),
        ["tidemark|run|--file|x", "tidemark|open"]
    );
    assert_eq!(found("apt install tidemark"), Vec::<String>::new());
    assert!(problem(&["tidemark", "run", "--no-such-flag"].map(str::to_owned), false).is_some());
    assert!(problem(&["tidemark", "no-such-verb"].map(str::to_owned), false).is_some());
    assert!(problem(&["tidemark", "serve", "--bind"].map(str::to_owned), true).is_some());
    assert!(
        problem(&["tidemark", "branch", "list", "lab", "--search", "x"].map(str::to_owned), true).is_none()
    );
}

fn collect_pages(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_pages(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

/// Returns the lines of code blocks, with continuation lines joined, and the code spans of a page: line number, text, and whether it
/// is a code block.
fn snippets(page: &str) -> Vec<(usize, String, bool)> {
    let mut snippets: Vec<(usize, String, bool)> = Vec::new();
    let (mut in_block, mut continues) = (false, false);
    for (number, line) in (1..).zip(page.lines()) {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            continues = false;
        } else if in_block {
            let text = line.trim().trim_end_matches('\\');
            match snippets.last_mut() {
                Some((_, last, _)) if continues => last.push_str(&format!(" {text}")),
                _ => snippets.push((number, text.to_owned(), true)),
            }
            continues = line.ends_with('\\');
        } else {
            let spans = line.split('`').skip(1).step_by(2);
            snippets.extend(spans.map(|span| (number, span.replace("\\|", "|"), false)));
        }
    }
    snippets
}

/// Returns the words of each `tidemark` command in a line of a shell or of a CI configuration.
fn commands_of(line: &str) -> Vec<Vec<String>> {
    let mut commands: Vec<Vec<String>> = vec![Vec::new()];
    let (mut word, mut quote, mut is_word, mut redirects) = (String::new(), None, false, false);
    for character in line.chars().chain(['\n']) {
        match (quote, character) {
            (Some(end), character) if character == end => quote = None,
            (Some(_), character) => word.push(character),
            (None, '"' | '\'') => (quote, is_word) = (Some(character), true),
            (None, '#') if !is_word => break,
            (None, character) if character.is_whitespace() || "|&;()<>".contains(character) => {
                // The 2 of `2>&1` is not an argument.
                let is_descriptor =
                    "<>".contains(character) && word.bytes().all(|byte| byte.is_ascii_digit());
                if is_word && !redirects && !is_descriptor {
                    let words = commands.last_mut().expect("the list starts with one command");
                    words.push(std::mem::take(&mut word));
                }
                redirects &= !is_word;
                word.clear();
                is_word = false;
                if "|&;()".contains(character) {
                    commands.push(Vec::new());
                    redirects = false;
                } else if "<>".contains(character) {
                    redirects = true;
                }
            }
            (None, character) => {
                word.push(character);
                is_word = true;
            }
        }
    }
    // Before the command: a prompt, variables, keys of YAML, `time`.
    let is_prefix = |word: &str| {
        matches!(word, "$" | "-" | "time" | "exec" | "do" | "then" | "if" | "npx")
            || word.ends_with(':')
            || word.contains('=')
    };
    let commands = commands.into_iter().map(|words| {
        let rest = words.iter().skip_while(|word| is_prefix(word));
        rest.cloned().collect::<Vec<_>>()
    });
    commands.filter(|words| words.len() > 1 && words[0] == "tidemark").collect()
}

/// Returns why a command is not valid.
fn problem(words: &[String], is_block: bool) -> Option<String> {
    let is_abbreviated = words.iter().any(|word| word.contains('…') || word.contains("..."));
    let error = super::Arguments::command().try_get_matches_from(words).err()?;
    let counts = match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => false,
        // A variable may contain the value.
        ErrorKind::MissingRequiredArgument => false,
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand => true,
        _ => is_block && !is_abbreviated,
    };
    counts.then(|| error.to_string().lines().next().unwrap_or_default().to_owned())
}
