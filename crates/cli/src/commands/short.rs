//! What is said of commands that are short for others, which have their arguments and their code.

pub const ADD: &str = "Add a task to the queue (short for `leader add-task`)";

pub const ADD_LONG: &str = "\
Add a task to the queue

Short for `leader add-task`, with the same options.

Examples:
  anthill add \"Create the User model\" -p 1 --files src/models/
  anthill add \"Registration endpoint\" --depends model --label api
  anthill add \"Report errors\" --parent parser";

pub const READY: &str = "List the tasks that can be claimed now (short for `worker list`)";

pub const READY_LONG: &str = "\
List the tasks that can be claimed now, best first

Short for `worker list`, with the same options.

Examples:
  anthill ready
  anthill ready -n 5 --json";
