;; Source of the functions that depth.tsv appends. A test compares the two and prints the rows that are
;; wanted; imports are named like the engine's functions.
;; 1064960 is the soft limit that the interpreter computes from `c_stack` in engine.toml: its base + 16 KiB. A stack pointer
;; below it is left to the interpreter's own check. 17922788 is an empty text.
(module
  ;; The first types of the engine, at their places: calls through the table name them by number.
  (type (func (param i32) (result i32)))
  (type (func (param i32 i32) (result i32)))
  (type (func (param i32 i32 i32 i32) (result i32)))
  (type (func (param i32 i32)))
  (type (func (result i32)))
  (type (func (param i32 i32 i32) (result i32)))
  (import "engine" "table" (table 0 funcref))
  (import "engine" "stack_pointer" (global $sp (mut i32)))
  (import "engine" "Py_EnterRecursiveCall" (func $enter (param i32) (result i32)))
  (import "engine" "object_recursive_isinstance" (func $isinstance (param i32 i32 i32) (result i32)))
  (import "engine" "object_issubclass" (func $issubclass (param i32 i32 i32) (result i32)))

  ;; The hash of an object by its type's function; -1 with RecursionError if the stack ends.
  (func $checked_hash (param $object i32) (param $hash i32) (result i32)
    (if (i32.lt_u (global.get $sp) (i32.const 1064960)) (then
      (if (call $enter (i32.const 17922788)) (then (return (i32.const -1))))))
    (call_indirect (type 0) (local.get $object) (local.get $hash)))

  ;; The next item of an iterator by its type's function; NULL with RecursionError if the stack ends.
  (func $checked_next (param $iterator i32) (param $next i32) (result i32) (local $item i32)
    (if (i32.lt_u (global.get $sp) (i32.const 1064960)) (then
      (if (call $enter (i32.const 17922788)) (then (return (i32.const 0))))))
    (global.set $sp (i32.sub (global.get $sp) (i32.const 128)))
    (local.set $item (call_indirect (type 0) (local.get $iterator) (local.get $next)))
    (global.set $sp (i32.add (global.get $sp) (i32.const 128)))
    (local.get $item))

  ;; Calls an object by its type's function. The caller checks.
  (func $framed_call (param $callable i32) (param $args i32) (param $keywords i32) (param $call i32) (result i32)
    (local $result i32)
    (global.set $sp (i32.sub (global.get $sp) (i32.const 96)))
    (local.set $result
      (call_indirect (type 5) (local.get $callable) (local.get $args) (local.get $keywords) (local.get $call)))
    (global.set $sp (i32.add (global.get $sp) (i32.const 96)))
    (local.get $result))

  ;; One level of `isinstance`. The called function checks.
  (func $framed_isinstance (param $thread i32) (param $object i32) (param $class i32) (result i32) (local $result i32)
    (global.set $sp (i32.sub (global.get $sp) (i32.const 112)))
    (local.set $result (call $isinstance (local.get $thread) (local.get $object) (local.get $class)))
    (global.set $sp (i32.add (global.get $sp) (i32.const 112)))
    (local.get $result))

  ;; One level of `issubclass`. The called function checks.
  (func $framed_issubclass (param $thread i32) (param $derived i32) (param $class i32) (result i32) (local $result i32)
    (global.set $sp (i32.sub (global.get $sp) (i32.const 112)))
    (local.set $result (call $issubclass (local.get $thread) (local.get $derived) (local.get $class)))
    (global.set $sp (i32.add (global.get $sp) (i32.const 112)))
    (local.get $result)))
