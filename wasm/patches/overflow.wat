;; Source of the functions that overflow.tsv appends. A test compares the two and prints the rows that are
;; wanted; imports are named like the engine's functions.
;; intp has 32 bits here and 64 on the machines that programs are written for, so a result that needs more
;; is never the one that a program means. It ends in an OverflowError.
;; 26079564 = &PyExc_OverflowError; 26079184 = &PyExc_ValueError; global 0 is the stack pointer.
(module
  (import "engine" "memory" (memory 1))
  (import "engine" "stack" (global $stack (mut i32)))
  (import "engine" "PyArray_NewFromDescr" (func $new_array (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
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

  ;; Casts to intp. kind 0: from int64, 1: from uint64, 2: from uint32, 3: from float64, 4: from float32.
  (func $cast_to_position (param $data i32) (param $count i32) (param $from_step i32) (param $to_step i32)
    (param $kind i32) (result i32)
    (local $from i32) (local $to i32) (local $value i64) (local $number f64)
    (local.set $count (i32.load (local.get $count)))
    (local.set $from (i32.load (local.get $data)))
    (local.set $to (i32.load offset=4 (local.get $data)))
    (block $done
      (loop $next
        (br_if $done (i32.le_s (local.get $count) (i32.const 0)))
        (if (i32.eq (local.get $kind) (i32.const 2))
          (then (local.set $value (i64.load32_u align=1 (local.get $from))))
          (else (if (i32.lt_u (local.get $kind) (i32.const 2))
            (then (local.set $value (i64.load align=1 (local.get $from))))
            (else
              (if (i32.eq (local.get $kind) (i32.const 3))
                (then (local.set $number (f64.load align=1 (local.get $from))))
                (else (local.set $number (f64.promote_f32 (f32.load align=1 (local.get $from))))))
              (local.set $value (i64.trunc_sat_f64_s (local.get $number)))
              ;; NaN and infinities are no integers on any machine: they stay what they were.
              (if (f64.ne (f64.sub (local.get $number) (local.get $number)) (f64.const 0))
                (then (local.set $value (i64.extend_i32_s (i32.trunc_sat_f64_s (local.get $number))))))))))
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
        (br $next))))

  ;; The loops of negative (0) and absolute (1) for intp.
  (func $position_unary (param $args i32) (param $count i32) (param $steps i32) (param $kind i32)
    (local $in i32) (local $out i32) (local $a i32)
    (local.set $count (i32.load (local.get $count)))
    (local.set $in (i32.load (local.get $args)))
    (local.set $out (i32.load offset=4 (local.get $args)))
    (block $done
      (loop $next
        (br_if $done (i32.le_s (local.get $count) (i32.const 0)))
        (local.set $a (i32.load align=1 (local.get $in)))
        (if (i32.eq (local.get $a) (i32.const -2147483648))
          (then
            (call $position_overflow)
            (return)))
        (if (i32.or (i32.eqz (local.get $kind)) (i32.lt_s (local.get $a) (i32.const 0)))
          (then (local.set $a (i32.sub (i32.const 0) (local.get $a)))))
        (i32.store align=1 (local.get $out) (local.get $a))
        (local.set $in (i32.add (local.get $in) (i32.load (local.get $steps))))
        (local.set $out (i32.add (local.get $out) (i32.load offset=4 (local.get $steps))))
        (local.set $count (i32.sub (local.get $count) (i32.const 1)))
        (br $next))))

  ;; Makes the array that `repeat` fills. Its caller adds the counts up in 32 bits, and writes as many items as there are.
  ;; counts is the array of counts; a single one counts for all n items.  data, nd and dims of an array lie at 8, 12 and 16.
  (func $new_repeated (param $type i32) (param $dtype i32) (param $nd i32) (param $dims i32) (param $counts i32) (param $n i32)
    (param $flags i32) (param $like i32) (result i32)
    (local $data i32) (local $total i64) (local $text i32)
    (local.set $data (i32.load offset=8 (local.get $counts)))
    (if (i32.eqz (i32.load offset=12 (local.get $counts)))
      (then (local.set $text (i32.const 1)))
      (else (local.set $text (i32.load (i32.load offset=16 (local.get $counts))))))
    (if (i32.eq (local.get $text) (i32.const 1))
      (then (local.set $total (i64.mul (i64.load32_s (local.get $data)) (i64.extend_i32_s (local.get $n)))))
      (else
        (block $done
          (loop $next
            (br_if $done (i32.le_s (local.get $text) (i32.const 0)))
            (local.set $text (i32.sub (local.get $text) (i32.const 1)))
            (local.set $total (i64.add (local.get $total)
              (i64.load32_s (i32.add (local.get $data) (i32.shl (local.get $text) (i32.const 2))))))
            (br $next)))))
    (if (i64.gt_s (local.get $total) (i64.const 2147483647))
      (then
        (global.set $stack (local.tee $text (i32.sub (global.get $stack) (i32.const 32))))
        (i64.store offset=0 align=1 (local.get $text) (i64.const 8316213892614353505))  ;; "array is"
        (i64.store offset=8 align=1 (local.get $text) (i64.const 7451594949909247008))  ;; " too big"
        (i64.store offset=16 align=1 (local.get $text) (i64.const 0))
        (call $set_error (i32.load (i32.const 26079184)) (local.get $text))
        (global.set $stack (i32.add (local.get $text) (i32.const 32)))
        (return (i32.const 0))))
    (call $new_array (local.get $type) (local.get $dtype) (local.get $nd) (local.get $dims) (i32.const 0) (i32.const 0)
      (local.get $flags) (local.get $like))))
