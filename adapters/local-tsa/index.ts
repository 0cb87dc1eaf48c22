export { openLocalTsa, type LocalTsa, type LocalTsaOptions } from './authority.ts'
