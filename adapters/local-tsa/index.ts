export { LocalTsa, openLocalTsa, type LocalTsaOptions } from './authority.ts'
export { readLastStamped } from './last-stamp.ts'
