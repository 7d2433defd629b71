;; Source of the functions that overflow.tsv appends. A test compares the two and prints the rows that are
;; wanted; imports are named like the engine's functions.
;; intp has 32 bits here and 64 on the machines that programs are written for, so a result that needs more
;; is never the one that a program means. It ends in an OverflowError.
;; 26079564 = &PyExc_OverflowError; global 0 is the stack pointer.
(module
  (import "engine" "memory" (memory 1))
  (import "engine" "stack" (global $stack (mut i32)))
  (import "engine" "PyErr_SetString" (func $set_error (param i32 i32)))

  ;; Raises OverflowError. The message is written below the stack pointer; the callee copies it.
  (func $position_overflow (local $text i32)
    (global.set $stack (local.tee $text (i32.sub (global.get $stack) (i32.const 64))))
    (i64.store offset=0 align=1 (local.get $text) (i64.const 8388343727209521249))  ;; "a 32-bit"
    (i64.store offset=8 align=1 (local.get $text) (i64.const 8007533596903629088))  ;; " array o"
    (i64.store offset=16 align=1 (local.get $text) (i64.const 7598814415792644198))  ;; "f positi"
    (i64.store offset=24 align=1 (local.get $text) (i64.const 8243124912629444207))  ;; "ons over"
    (i64.store offset=32 align=1 (local.get $text) (i64.const 2322278944821177446))  ;; "flowed: "
    (i64.store offset=40 align=1 (local.get $text) (i64.const 8313977480577119093))  ;; "use x.as"
    (i64.store offset=48 align=1 (local.get $text) (i64.const 7955933271180736884))  ;; "type('in"
    (i64.store offset=56 align=1 (local.get $text) (i64.const 176751392372))  ;; "t64')"
    (call $set_error (i32.load (i32.const 26079564)) (local.get $text))
    (global.set $stack (i32.add (local.get $text) (i32.const 64))))

  ;; Casts to intp. kind 0: from int64, 1: from uint64, 2: from uint32.
  (func $cast_to_position (param $data i32) (param $count i32) (param $from_step i32) (param $to_step i32)
    (param $kind i32) (result i32)
    (local $from i32) (local $to i32) (local $value i64)
    (local.set $count (i32.load (local.get $count)))
    (local.set $from (i32.load (local.get $data)))
    (local.set $to (i32.load offset=4 (local.get $data)))
    (block $done
      (loop $next
        (br_if $done (i32.le_s (local.get $count) (i32.const 0)))
        (if (i32.eq (local.get $kind) (i32.const 2))
          (then (local.set $value (i64.load32_u align=1 (local.get $from))))
          (else (local.set $value (i64.load align=1 (local.get $from)))))
        ;; An unsigned value with the highest bit set is out of range as a signed one as well,
        ;; except for those that end like a small negative number.
        (if (i32.or
              (i64.ne (i64.extend_i32_s (i32.wrap_i64 (local.get $value))) (local.get $value))
              (i32.and (i32.eq (local.get $kind) (i32.const 1)) (i64.lt_s (local.get $value) (i64.const 0))))
          (then
            (call $position_overflow)
            (return (i32.const -1))))
        (i32.store align=1 (local.get $to) (i32.wrap_i64 (local.get $value)))
        (local.set $from (i32.add (local.get $from) (local.get $from_step)))
        (local.set $to (i32.add (local.get $to) (local.get $to_step)))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $next)))
    (i32.const 0))

  ;; The loops of add (0), subtract (1) and multiply (2) for intp.
  (func $position_loop (param $args i32) (param $count i32) (param $steps i32) (param $kind i32)
    (local $left i32) (local $right i32) (local $out i32) (local $a i64) (local $b i64)
    (local.set $count (i32.load (local.get $count)))
    (local.set $left (i32.load (local.get $args)))
    (local.set $right (i32.load offset=4 (local.get $args)))
    (local.set $out (i32.load offset=8 (local.get $args)))
    (block $done
      (loop $next
        (br_if $done (i32.le_s (local.get $count) (i32.const 0)))
        (local.set $a (i64.load32_s align=1 (local.get $left)))
        (local.set $b (i64.load32_s align=1 (local.get $right)))
        (if (i32.eqz (local.get $kind))
          (then (local.set $a (i64.add (local.get $a) (local.get $b))))
          (else (if (i32.eq (local.get $kind) (i32.const 1))
            (then (local.set $a (i64.sub (local.get $a) (local.get $b))))
            (else (local.set $a (i64.mul (local.get $a) (local.get $b)))))))
        (if (i64.ne (i64.extend_i32_s (i32.wrap_i64 (local.get $a))) (local.get $a))
          (then
            (call $position_overflow)
            (return)))
        (i32.store align=1 (local.get $out) (i32.wrap_i64 (local.get $a)))
        (local.set $left (i32.add (local.get $left) (i32.load (local.get $steps))))
        (local.set $right (i32.add (local.get $right) (i32.load offset=4 (local.get $steps))))
        (local.set $out (i32.add (local.get $out) (i32.load offset=8 (local.get $steps))))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $next)))))
