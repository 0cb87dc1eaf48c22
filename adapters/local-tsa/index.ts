export { LocalTsa, openLocalTsa, type LocalTsaOptions } from './authority.ts'
export { isKeyOf } from './certificates.ts'
export { readLastStamped } from './last-stamp.ts'
