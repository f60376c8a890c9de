/* SPDX-License-Identifier: BSD-2-Clause
 *
 * All numbers of the schedule: name, value, unit and origin.
 *
 * Each comment is "unit and meaning | origin". "measured": chosen by measurement on one H200 with
 * 16 cores, see docs/performance.md. "by design": follows from the structure.
 */
#ifndef PELTON_KNOBS_H
#define PELTON_KNOBS_H

/* clang-format off */

/* ---- windows: how far a stream is read ahead ---- */
/* pictures a stream at least | by design: one GOP of common streams */
#define WINDOW_LEAST             8
#define WINDOW_LEAST_SOFTWARE    4              /* the same on software devices | by design */
#define WINDOW_SOFTWARE_BYTES    (64ull << 20)  /* bytes a stream there | measured, lavapipe */
/* pictures begun, of all windows | measured, 16 streams: 12 stop coders for the GPU */
#define WINDOW_AHEAD_PER_CODER   24
#define WINDOW_AHEAD_LEAST       128            /* pictures, of all windows | measured, 1 stream */
/* pictures, of all windows | measured, 64 streams */
#define WINDOW_AHEAD_MOST        1024
/* times these two, and slots, where pictures are smaller than 1920x1088 | measured, clips: 1, 4 */
#define WINDOW_SMALL             1
/* 1/n of the estimate of a picture's arrays is the last picture's | by design */
#define WINDOW_NEED_LAST         8
/* half of what the GPU may have in work: as many wait or are in work | measured: 3, 6 */
#define WINDOW_GPU_HALVES        6
#define WINDOW_GPU_HALVES_ALONE  6              /* the same for one stream | measured: 20M */
/* 1/n of a picture's arrays: its bytes | by design: upper estimate */
#define WINDOW_WAITING_PART      16
/* 1/n of a picture's arrays: on device | measured */
#define WINDOW_DECODED_PART      2
/* LIVE pictures in work at most | by design: else it is read faster than it plays */
#define WINDOW_LIVE_PICTURES     2
/* of a stream: never the GPU's | measured, time to the first frame */
#define WINDOW_FIRST_PICTURES    16
/* pictures of all windows that wait at least, for the GPU to be in time | simulated: 1.5 GB */
#define WINDOW_WAIT_LEAST        1152
/* pictures after one that reads records: theirs come to the host at once | by design */
#define WINDOW_READ              64
/* batches after which a window without pictures and outputs does not share any more | by design:
 * a live stream has some between them */
#define WINDOW_RESTS             256
#define WINDOW_RESTS_LOOK        16             /* batches between two looks for them | by design */
#define WINDOW_CHUNK_MBS         256            /* macroblocks a coder takes at least | measured */
/* ns: LIVE pictures further apart are not expected | by design: 5 a second */
#define WINDOW_WATCH_GAP_NS      200000000

/* ---- coders ---- */
/* steps of nice(2): a thread that feeds the device has a core at once | measured: 0, 1, 5, 19 */
#define CODER_NICE               10

/* ---- split: entropy decoding on CPU or GPU ---- */
#define SPLIT_BATCHES            8              /* in work, where memory is not short | measured */
/* the same beside coders where memory is short of so many | simulated: CRF 23 in 1.5 GB */
#define SPLIT_BATCHES_NARROW     4
/* the same, one stream, if they are whole; as many pictures in more of them | measured: 4, 5, 7 */
#define SPLIT_BATCHES_ALONE      8
/* the same while reconstruction is behind | simulated */
#define SPLIT_BATCHES_BEHIND     2
/* READY pictures that wait for no other: it is behind | by design: four batches */
#define SPLIT_OPEN_MOST          128
/* pictures: batches of so few leave the GPU places | simulated */
#define SPLIT_NARROW             96
/* of the largest slice, for each place | simulated */
#define SPLIT_PLACE_COST         0.5
#define SPLIT_PICTURES           512            /* pictures of a batch at most | by design */
/* where memory is not short | measured, simulated */
#define SPLIT_PICTURES_WIDE      512
/* the least that counts as a whole batch: memory is short of more | measured */
#define SPLIT_PICTURES_WHOLE     192
#define SPLIT_MEMORY_PART        6              /* 1/n of device memory for batches | simulated */
/* the same where that is short of whole batches | measured, simulated: CRF 23 in 1.5 GB */
#define SPLIT_MEMORY_PART_NARROW 4
/* 1/n of device memory for coefficients | measured, 16 of 20M */
#define SPLIT_RESIDENT_PART      8
/* the same where that is short of whole batches | by design: batches need it */
#define SPLIT_RESIDENT_PART_NARROW 16
#define SPLIT_SOFTWARE_RESIDENT  (256ull << 20) /* bytes of host memory at most | by design */
/* bytes a device must have | by design: room for one batch */
#define SPLIT_LEAST_MEMORY       (2ull << 30)
#define SPLIT_HD_MBS             8160           /* macroblocks of 1920x1088 | by design */
/* coefficient blocks a macroblock, 4:2:0 | by design: the most there can be */
#define SPLIT_MB_BLOCKS          24
/* the same, 4:0:0 | by design: the most there can be */
#define SPLIT_MB_BLOCKS_GREY     16
/* the same, average over a batch | measured, conformance streams */
#define SPLIT_BATCH_BLOCKS       10
/* the same where memory for whole batches is short | simulated: CRF 23 in 1.5 GB */
#define SPLIT_NARROW_BLOCKS      6
#define SPLIT_BLOCK_BYTES        32             /* bytes of a block | by design: 16 int16_t */
/* blocks for 5 bytes of slices | measured: 0.7 to 1.0 a byte, more in 1 % of pictures */
#define SPLIT_BLOCKS_PER_5_BYTES 8
/* times that a stream's are doubled | by design: an intra picture of the lowest rate */
#define SPLIT_FEW_BLOCKS         2
/* blocks for 4 bytes of a slice, where more are made as needed | measured: 0.7 to 1.0 a byte */
#define SPLIT_CODER_BLOCKS_PER_4_BYTES 5
/* words of packed levels for a byte of a slice, where more are made as needed | measured: 0.9 */
#define SPLIT_CODER_WORDS_PER_BYTE 1
#define SPLIT_WORDS_STEP         3              /* words a macroblock: few sizes | by design */
/* blocks that a slice may leave unused | by design: taken for 8 macroblocks at once */
#define SPLIT_SLICE_BLOCKS       384
#define SPLIT_SLICE_PADDING      64             /* bytes beside each slice | by design */
/* bytes of a picture's slices, average | measured */
#define SPLIT_PICTURE_BYTES      (64u << 10)
#define SPLIT_PICTURE_SLICES     8              /* slices of a picture, average | measured */
#define SPLIT_SOFTWARE_BATCHES   2              /* batches on software devices | by design */
#define SPLIT_SOFTWARE_PICTURES  8              /* pictures of a batch there | by design */
#define SPLIT_DECAY              0.95           /* weight of older measurements | measured */
/* s a byte of one coder, before measured | measured */
#define SPLIT_CPU_SECONDS        1e-7
/* s a byte of the largest slice, before measured | measured */
#define SPLIT_GPU_SECONDS        2e-6
/* bytes that take as long as a macroblock | measured: 20 ms for 8,160, 0.8 ms a kilobyte */
#define SPLIT_MB_WEIGHT          3
/* s from a batch's end, before measured | measured */
#define SPLIT_FETCH_SECONDS      0.02
#define SPLIT_MARGIN             1.3            /* times the estimate, at first | measured */
#define SPLIT_MARGIN_LEAST       110            /* percent | measured */
#define SPLIT_MARGIN_MOST        300            /* percent | measured */
#define SPLIT_MARGIN_LATE        1.1            /* times, after a late batch | measured */
#define SPLIT_MARGIN_TIMELY      0.98           /* times, after another | measured */
#define SPLIT_LEAST_PART         2              /* 1/n of a batch, at least | measured */
#define SPLIT_FIRST_BATCH        32             /* pictures, until one is measured | measured */
/* n/8 of the window budget for the GPU | measured */
#define SPLIT_KEPT_EIGHTHS       3
/* the same of a little budget | measured, simulated: CRF 23 in 1.5 GB, 1 GB of the host */
#define SPLIT_KEPT_LITTLE        6
#define SPLIT_LITTLE_BYTES       (1ull << 30)   /* a little budget for windows | by design */
#define SPLIT_CANDIDATES         3              /* times a batch, to choose from | measured */
/* pictures that share a batch's blocks | by design: too few for an average */
#define SPLIT_LEAST_SHARED       8
/* of slices on average, of many streams: 854x480 at CRF 38 has 6 to 14 KB | measured */
#define SPLIT_SMALL_WEIGHT       (16u << 10)
#define SPLIT_SMALL_LEAST        128            /* such pictures: a batch | by design */
/* 1/n of the coders decode them beside it, at least: readers need cores | measured: 2, 3, 5 */
#define SPLIT_SMALL_CODERS       8
/* s of all coders, before the GPU joins them | by design: many streams last */
#define SPLIT_SMALL_SECONDS      0.25
/* all of them do where so many batches wait beyond the next one | by design */
#define SPLIT_SMALL_WAITS        8
#define SPLIT_SMALL_PART         4              /* or 1/n of what a batch holds | by design */
#define SPLIT_WORTH_MS           100            /* ms of all coders: worth help | measured */
/* s of all coders: video so short is not worth memory of the GPU | measured */
#define SPLIT_AUTO_SECONDS       1.0
/* 1/n of the coders, idle: the GPU is the encoders' | by design: cores are left over */
#define SPLIT_IDLE_PART          4
#define SPLIT_FORGET_NS          500000000ll    /* ns without a batch | measured */
#define SPLIT_FORGET             0.8            /* weight of measurements then | measured */
/* batches at once, plus one for each done | measured */
#define SPLIT_FIRST_BATCHES      2
/* words of packed levels for 4 bytes of slices, the GPU's | by design: more have blocks */
#define SPLIT_WORDS_PER_4_BYTES  5
/* bytes of packed levels a byte of slices | measured: 0.9 words */
#define SPLIT_LEVEL_BYTES        4
/* blocks a macroblock: few sizes of arrays | by design: memory is kept by size */
#define SPLIT_BLOCKS_STEP        3
#define SPLIT_LOOK_NS            2000000u       /* ns between two looks at the queue | measured */
/* the same at batches in work | by design: a small one takes 30 ms, and each has three steps */
#define SPLIT_LOOK_BUSY_NS       500000u

/* ---- motion on the GPU ---- */
#define MOTION_BATCHES           2              /* one is filled while one is in work | by design */
#define MOTION_PICTURES          256            /* of a batch at most | by design: of 854x480 */
#define MOTION_HD_PICTURES       64             /* of 1920x1088 | measured */
/* pictures that are worth a batch while reconstruction has enough | simulated: 24, 48 */
#define MOTION_ENOUGH            48
/* READY pictures that wait for no other: it has | measured: 4, 16, CRF 23 in 1.5 GB */
#define MOTION_READY             4
#define MOTION_WAIT_NS           10000000ll     /* ns from one batch to the next | by design */
#define MOTION_PICTURE_SLICES    8              /* slices of a picture, average | measured */
#define MOTION_SOFTWARE_PICTURES 8              /* of a batch on software devices | by design */
#define MOTION_MEMORY_PART       64             /* 1/n of device memory for batches | by design */

/* ---- frame slots ---- */
/* stores kept without users | by design: pipelines take long to build */
#define SLOTS_IDLE_STORES        2
/* frames that left the DPB, in delivery | by design */
#define SLOTS_DELIVERY           4
#define SLOTS_EXTRA              24             /* beyond base, where memory is short | measured */
/* a stream with less gets its own store | measured */
#define SLOTS_EXTRA_LEAST        6
/* of a live stream, beyond base: it has two pictures in work | by design: 200 MB of 1080p */
#define SLOTS_LIVE               16
/* 1/n of the slots for the next stream | measured */
#define SLOTS_KEPT_PART          16
/* ns to wait for others' slots | by design: then readers stand still */
#define SLOTS_PATIENCE_NS        1000000000ll
/* slots of the one store that an idle worker keeps | by design: the next stream begins sooner */
#define SLOTS_IDLE               16
/* ns without a batch, until a stream that waits exceeds the budget | by design: beyond any load */
#define SLOTS_STILL_NS           10000000000ll
/* ns that others leave memory to a stream that waits for it | by design: a batch takes less */
#define SLOTS_SHORT_NS           2000000000ll
/* ns between two times that the broker hears of it | by design: a stream ends meanwhile */
#define SLOTS_ASK_NS             20000000ll
/* ns without slots, until it does | by design: a store begins to grow */
#define SLOTS_ASK_AFTER_NS       5000000ll
#define SLOTS_IDLE_BYTES         (128ull << 20) /* bytes that it may hold | by design */
#define SLOTS_MOST               1280           /* slots of a store | measured */
/* frames of a short file: it is over before more slots are made | by design: 20 s */
#define SLOTS_SHORT_FRAMES       512
/* slots for it, beyond base | by design: four batches */
#define SLOTS_SHORT              128
/* of a new store on software devices, beyond base | by design */
#define SLOTS_FIRST_SOFTWARE     2
/* slots for a picture of a batch: those are narrow where slots are few | measured: 4, 8 */
#define SLOTS_OF_WIDTH           8
#define SLOTS_OF_WIDTH_SOFTWARE  4              /* the same on software devices | by design */
/* slots at most that pictures ahead leave to older ones | measured: 0, 96, CRF 23 in 1.5 GB */
#define SLOTS_NEAR               96
#define SLOTS_IMAGE_BYTES        (5ull << 29)   /* bytes of one image | drivers refuse 4 GiB */
#define SLOTS_MEMORY_PART        8              /* 1/n of device memory for a store | by design */
/* streams of a store, if look-ahead is given | by design */
#define SLOTS_SHARES             8

/* ---- batches ---- */
#define BATCH_DELIVERIES         64             /* frames that one batch delivers | by design */
#define BATCH_WIDTH              32             /* pictures of a batch | measured */
#define BATCH_WIDTH_SMALL        64             /* the same of small ones | measured, 854x480 */
#define BATCH_SMALL_PART         4              /* 1/n of 1920x1088 at most | by design */
/* the same on software devices | measured, lavapipe */
#define BATCH_WIDTH_SOFTWARE     4
#define BATCHES_IN_FLIGHT        3              /* one runs, two are copied up | measured */
/* pictures of a window that are looked at | by design: bounds the time with the lock */
#define BATCH_LOOK               1024

/* ---- live streams ---- */
#define LIVE_ASLEEP_NS           1000000000ll   /* ns without a picture: asleep | by design */
#define LIVE_WAKE_SLICES         64             /* coders that wake at once | by design */
/* ns: coders are awake before a picture | measured, live p99 */
#define LIVE_WATCH_BEFORE_NS     1000000
/* such coders: one a slice, at most | by design: a fifth of a core in all */
#define LIVE_WATCH_CODERS        8
/* ns, and after it was expected | measured, live p99 */
#define LIVE_WATCH_AFTER_NS      1000000
/* parts of a picture of one slice, reconstructed as they come; 1: none is | measured, live p99 */
#define LIVE_ROWS_PARTS          8
/* macroblocks of such a picture, at least | by design */
#define LIVE_ROWS_MBS            3600
/* ns: rows are awaited on a software device | by design: only tests ask for that */
#define LIVE_ROWS_TEST_NS        200000000
/* ns: a picture takes the GPU less | measured, live p99 */
#define LIVE_EXPECT_NS           5000000
/* ns that the device's thread spins | measured: a sleeper takes 0.1 ms to wake */
#define LIVE_SPIN_NS             20000000u
#define LIVE_PULSE_NS            1000000u       /* ns between two pulses | measured */
/* of a pulse | measured: half is not enough for an H200 */
#define LIVE_PULSE_STEPS         200000u

/* ---- the device's thread ---- */
/* ns for a batch, before new work is looked for | measured */
#define DEVICE_WAIT_NS           100000u
#define DEVICE_FULL_NS           1000000u       /* ns, while no batch can be submitted | measured */
#define DEVICE_STORE_NS          10000000u      /* ns, while a stream waits for slots | by design */
#define DEVICE_UNREF             64             /* pictures unreferenced a round | by design */
#define DEVICE_MEASUREMENTS      3              /* of bandwidth, the best counts | by design */

/* ---- frame pools ---- */
#define POOLS_SLOTS              192            /* slots of all pools together | measured */
#define POOL_DEPTH_LEAST         4              /* slots of a pool | by design */
#define POOL_DEPTH_MOST          32             /* slots of a pool | measured */
/* slots, if others decode the rest of a file | measured */
#define POOL_DEPTH_STRETCH       256
#define POOL_STRETCH_BYTES       (1u << 30)     /* bytes of such a pool | by design */
#define POOL_DEPTH_SOFTWARE      8              /* slots on software devices | by design */
/* pools that wait to be freed, before the device's thread helps | by design: bounds memory */
#define POOLS_LEFT               32
/* bytes of pools that wait for the next stream of their readers | by design */
#define POOLS_KEPT_BYTES         (1ull << 30)
#define POOLS_KEPT_PART          4              /* 1/n of what all pools may have | by design */
#define POOL_DEPTH_LIVE          8              /* slots of live streams | by design */

/* ---- host memory ---- */
#define MEMORY_CACHE             (1ull << 30)   /* bytes of free arrays kept | by design */
/* bytes for windows, at most | measured, 64 streams */
#define MEMORY_WINDOW_BUDGET     (8ull << 30)
/* bytes that a worker may hold, unless told | by design: twice that for windows */
#define MEMORY_HOST_BUDGET       (16ull << 30)
#define MEMORY_HOST_PART         8              /* 1/n of free host memory for it | by design */
/* 1/n of free device memory for it | by design: two daemons on one device */
#define MEMORY_DEVICE_PART       2
/* 1/n of the host's budget for windows | by design */
#define MEMORY_WINDOW_PART       2
#define MEMORY_POOL_PART         4              /* 1/n of the host's budget for pools | by design */
/* ns without work before memory is given back | by design: within 10 s */
#define MEMORY_IDLE_NS           9000000000ll
/* 1/n of that between two looks | by design */
#define MEMORY_IDLE_LOOKS        9
#define MEMORY_SLAB              (64u << 20)    /* bytes of a pinned slab | measured */
#define MEMORY_SLAB_SOFTWARE     (4u << 20)     /* the same on software devices | by design */

/* clang-format on */

#endif
