import fs from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { callbackify } from 'node:util'
import type { WriteFileOptions } from '../../../adapters/files/node-files.ts'
import { writeFileByCalls } from '../../support/write-file-by-calls.ts'
import { DROP_EVIDENCES, type OutsideCall, type StopAt } from './points.ts'

/**
 * Preload of the server (`node --import`): kills the process with SIGKILL at the Nth call of a function of Node or of
 * abstract-level, as the variable `STOP_AT` says. So the product needs no code for this.
 */

// eslint-disable-next-line node/no-process-env -- a preload has no other input
const setting = process.env['STOP_AT'] ?? DROP_EVIDENCES
const target = setting === DROP_EVIDENCES ? undefined : (JSON.parse(setting) as StopAt)
let remaining = target?.nth ?? 0

/** Returns whether this is the call at which the process is stopped. */
function isTarget(call: OutsideCall, subjects: readonly string[]): boolean {
  if (target?.call !== call) return false
  const pattern = new RegExp(target.pattern)
  return subjects.some((subject) => pattern.test(subject)) && --remaining === 0
}

const stop = (): void => void process.kill(process.pid, 'SIGKILL')

async function guard<T>(call: OutsideCall, subjects: readonly string[], run: () => Promise<T>): Promise<T> {
  if (!isTarget(call, subjects)) return run()
  if (target?.when === 'before') stop()
  const result = await run()
  stop()
  return result
}

function guardHandle(handle: FileHandle, path: string): FileHandle {
  const write = handle.write.bind(handle) as (...args: unknown[]) => Promise<unknown>
  const sync = handle.sync.bind(handle)
  return Object.assign(handle, {
    write: (...args: unknown[]) => guard('write', [path], () => write(...args)),
    sync: () => guard('sync', [path], sync),
  })
}

const isNewFile = ([, flags]: Parameters<typeof fs.promises.open>): boolean => flags === 'wx'

function guardFiles(): void {
  const { open, link, unlink, rename } = fs.promises
  Object.assign(fs.promises, {
    open: async (...args: Parameters<typeof open>) =>
      guardHandle(await guard('open', isNewFile(args) ? [String(args[0])] : [], () => open(...args)), String(args[0])),
    link: (from: string, to: string) => guard('link', [to], () => link(from, to)),
    unlink: (path: string) => guard('unlink', [path], () => unlink(path)),
    rename: (from: string, to: string) => guard('rename', [to], () => rename(from, to)),
  })
  const writeFile = (path: string, bytes: Uint8Array, options: WriteFileOptions): Promise<void> =>
    writeFileByCalls(fs.promises.open, path, bytes, options)
  const paths = new Map<number, string>()
  const { openSync, writeSync } = fs
  Object.assign(fs, {
    writeFile: callbackify(writeFile),
    openSync(...args: Parameters<typeof openSync>) {
      const file = openSync(...args)
      paths.set(file, String(args[0]))
      return file
    },
    writeSync(file: number, ...args: [string]) {
      const isStop = isTarget('writeSync', [paths.get(file) ?? ''])
      if (isStop && target?.when === 'before') stop()
      const written = writeSync(file, ...args)
      if (isStop) stop()
      return written
    },
  })
  syncBuiltinESMExports()
}

interface ChainedBatch {
  put: (this: ChainedBatch, key: unknown, ...rest: unknown[]) => unknown
  write: (this: ChainedBatch, ...args: unknown[]) => Promise<unknown>
}

function guardBatches(): void {
  const abstractLevel = createRequire(import.meta.url)('abstract-level') as {
    readonly AbstractChainedBatch: { readonly prototype: ChainedBatch }
  }
  const batches = abstractLevel.AbstractChainedBatch.prototype
  const { put, write } = batches
  const keys = new WeakMap<ChainedBatch, string[]>()
  batches.put = function (key, ...rest) {
    const own = keys.get(this) ?? []
    own.push(String(key))
    keys.set(this, own)
    return put.call(this, key, ...rest)
  }
  batches.write = function (...args) {
    const own = keys.get(this) ?? []
    if (setting === DROP_EVIDENCES && own.some((key) => key.startsWith('ev/'))) return Promise.resolve()
    return guard('batch', own, () => write.apply(this, args))
  }
}

guardFiles()
guardBatches()
