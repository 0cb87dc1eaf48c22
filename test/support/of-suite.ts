import { after, before } from 'node:test'
import { present } from './present.ts'

interface Closable {
  readonly close?: () => unknown
  readonly stop?: () => unknown
}

/**
 * To be called in a `describe`: opens what its tests share before the first of them, and closes it after the last one.
 *
 * @returns what was opened, to be called in hooks and tests
 */
export function ofSuite<T extends object>(open: () => Promise<T>): () => T {
  let opened: (T & Closable) | undefined
  before(async () => void (opened = await open()))
  after(() => (opened?.close === undefined ? opened?.stop?.() : opened.close()))
  return () => present(opened)
}
