//! Help of the program: `--help` lists all commands by group, with examples; `-h` lists the most used commands and fits on a
//! terminal of 24 lines and 80 columns.

use std::fmt::Write;

use clap::{Command, builder::Styles};

/// Maximum width of a line, in columns.
const WIDTH: usize = 80;

/// Layout: clap has no headings for commands, so the text after the usage lists them.
const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}{after-help}\n";

/// A group of commands with a heading.
pub(crate) struct Group {
    pub(crate) title: &'static str,
    /// Names of the commands.
    pub(crate) commands: &'static [&'static str],
}

/// An example in the help.
pub(crate) struct Example {
    pub(crate) line: &'static str,
    /// What the command line does.
    pub(crate) purpose: &'static str,
}

/// Adds both texts to the table of commands: `common` is the group of `-h`.
pub(crate) fn add(command: Command, groups: &[Group], common: &Group, examples: &[Example]) -> Command {
    let short = Text::new(&command).group(&command, common).examples(examples).end(
        "Use `tidemark --help` for all commands, and `tidemark COMMAND --help` for one\ncommand. Use \
              `tidemark --version` for the version.",
    );
    let long = groups.iter().fold(Text::new(&command), |text, group| text.group(&command, group));
    let long = long.examples(examples).end(
        "Use `tidemark COMMAND --help` for the flags of a command, `tidemark -h` for the\nmost used commands, and \
         `tidemark --version` for the version.",
    );
    command.help_template(TEMPLATE).after_help(short).after_long_help(long)
}

/// A text with the styles of the help.
struct Text {
    text: String,
    styles: Styles,
}

impl Text {
    fn new(command: &Command) -> Self {
        Self { text: String::new(), styles: command.get_styles().clone() }
    }

    fn heading(&mut self, title: &str) {
        let style = *self.styles.get_header();
        let gap = if self.text.is_empty() { "" } else { "\n" };
        self.push(format_args!("{gap}{style}{title}:{style:#}\n"));
    }

    /// Adds a group, with the descriptions from the table of commands.
    fn group(mut self, command: &Command, group: &Group) -> Self {
        self.heading(group.title);
        let name_width = group.commands.iter().map(|name| name.len()).max().unwrap_or(0);
        for name in group.commands {
            let Some(described) = command.find_subcommand(name) else { continue };
            let about = described.get_about().map(ToString::to_string).unwrap_or_default();
            let aliases: String =
                described.get_visible_aliases().map(|alias| format!(" [alias: {alias}]")).collect();
            let style = *self.styles.get_literal();
            self.push(format_args!("  {style}{name:name_width$}{style:#}"));
            self.description(&format!("{about}{aliases}"), name_width + 4);
        }
        self
    }

    /// Adds a description after the first columns of a line, and wraps it.
    fn description(&mut self, text: &str, indent: usize) {
        let mut column = WIDTH;
        self.text.push_str("  ");
        for (index, word) in text.split(' ').enumerate() {
            let length = word.chars().count();
            if index == 0 {
                column = indent + length;
            } else if column + 1 + length > WIDTH {
                self.push(format_args!("\n{:indent$}", ""));
                column = indent + length;
            } else {
                self.text.push(' ');
                column += 1 + length;
            }
            self.text.push_str(word);
        }
        self.text.push('\n');
    }

    fn examples(mut self, examples: &[Example]) -> Self {
        self.heading("Examples");
        let line_width = examples.iter().map(|example| example.line.len()).max().unwrap_or(0);
        for Example { line, purpose } in examples {
            let style = *self.styles.get_literal();
            self.push(format_args!("  {style}{line:line_width$}{style:#}"));
            self.description(purpose, line_width + 4);
        }
        self
    }

    fn end(mut self, sentence: &str) -> String {
        self.push(format_args!("\n{sentence}"));
        self.text
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a text does not fail.
        let _ = self.text.write_fmt(text);
    }
}
