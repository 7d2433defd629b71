;; Source of the functions that memory.tsv appends. A test compares the two and prints the rows that are
;; wanted; imports are named like the engine's functions.
;; CPython collects cyclic garbage after so many new containers, however large they are. Here a collection is
;; due as well when large blocks were asked for: a few cycles with large data would fill the memory otherwise.
;; 27561516 = the current thread state, its eval breaker at 12, where 16 asks for a collection;
;; 27561524 = the interpreter, 3732 in it says whether collecting is enabled. Nothing else uses the addresses
;; below the C stack: 2048 holds the volume since the last collection in units of 16 bytes, 2052 how much
;; more than the least may be asked for before the next, 2056 whether a collection is due.
(module
  (import "engine" "memory" (memory 1))
  (import "engine" "dlmalloc" (func $allocate (param i32) (result i32)))
  (import "engine" "gc_collect_main" (func $collect (param i32 i32 i32) (result i32)))

  ;; Counts large blocks. A collection is asked for after 48 MiB or more, if the memory has 144 MiB or more.
  (func $counted_malloc (param $size i32) (result i32)
    (local $volume i32) (local $thread i32)
    (if (i32.ge_u (local.get $size) (i32.const 65536))
      (then
        (local.set $volume
          (i32.add (i32.load (i32.const 2048)) (i32.shr_u (local.get $size) (i32.const 4))))
        (if (i32.and
              (i32.gt_u (local.get $volume) (i32.add (i32.load (i32.const 2052)) (i32.const 3145728)))
              (i32.gt_u (memory.size) (i32.const 2304)))
          (then
            (local.set $thread (i32.load (i32.const 27561516)))
            (if (local.get $thread)
              (then
                (local.set $volume (i32.const 0))
                (i32.store (i32.const 2056) (i32.const 1))
                (i32.store offset=12 (local.get $thread)
                  (i32.or (i32.load offset=12 (local.get $thread)) (i32.const 16)))))))
        ;; The sum of what is asked for while nothing is collected stays in its 32 bits.
        (i32.store (i32.const 2048)
          (select (local.get $volume) (i32.const 1073741824)
            (i32.lt_u (local.get $volume) (i32.const 1073741824))))))
    (call $allocate (local.get $size)))

  ;; Runs the collection that the eval breaker asks for: a full one if large blocks made it due. Twice as much
  ;; may be asked for before the next one if nothing was found.
  (func $collect_garbage (param $thread i32)
    (local $more i32)
    (if (i32.load offset=3732 (i32.load (i32.const 27561524)))
      (then
        (if (i32.eqz (i32.load (i32.const 2056)))
          (then
            (drop (call $collect (local.get $thread) (i32.const -1) (i32.const 0)))
            (return)))
        (i32.store (i32.const 2056) (i32.const 0))
        (if (i32.eqz (call $collect (local.get $thread) (i32.const 2) (i32.const 0)))
          (then
            (local.set $more
              (i32.add (i32.const 3145728) (i32.shl (i32.load (i32.const 2052)) (i32.const 1))))
            (local.set $more
              (select (local.get $more) (i32.const 134217728)
                (i32.lt_u (local.get $more) (i32.const 134217728))))))
        (i32.store (i32.const 2052) (local.get $more))))))
