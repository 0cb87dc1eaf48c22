import { DAY_MS, flag, integer, optional, path, setting, text } from '../setting.ts'

export const log = {
  logName: setting(text('1 to 160 characters of A-Z a-z 0-9 . _ - /', /^[A-Za-z0-9._/-]{1,160}$/), {
    fallback: 'evidence-registry',
    doc: "Name in the log's origin. Fixed at the first start",
  }),
  sealMaxWaitMs: setting(integer(1, DAY_MS), {
    fallback: 5_000,
    doc: 'A batch is closed when its oldest event has waited this long',
  }),
  sealMaxLeaves: setting(integer(1, 1_048_576), {
    fallback: 65_536,
    doc: 'A batch is closed when it has this many entries',
  }),
  acceptClock: setting(flag, {
    fallback: false,
    doc: 'Confirm that the clock is right although it is behind the last batch',
  }),
  readOnly: setting(flag, {
    fallback: false,
    doc: 'Serve what is recorded, also from a store that lost signed entries. Nothing is written, sealed or signed',
  }),
  adoptHead: optional(path, {
    doc: 'signed-head.json of another server or copy. It is used if that of this data directory is missing',
  }),
} as const
