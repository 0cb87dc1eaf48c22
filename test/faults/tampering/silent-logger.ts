import type { Logger } from '../../../core/index.ts'

/** A damaged store logs an error for each read. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }
