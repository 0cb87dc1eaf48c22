import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root as repository } from '../../support/repository.ts'
import type { Environment } from '../../support/server-process.ts'
import { withTemporary } from '../../support/temporary.ts'

const SOURCE = join(repository, 'test/faults/interposer/interpose.c')

/** A kind of call that can fail. `sync`: fsync and fdatasync. */
export type SystemCall = 'open' | 'write' | 'sync' | 'rename' | 'link' | 'unlink' | 'read'

/** Which calls fail, and how. */
export interface SystemFault {
  readonly call: SystemCall
  /** The number of the error. 0: the call reports success and does nothing. */
  readonly errno: number
  /** The first call that fails, from 1. */
  readonly nth: number
  /** How many calls fail. */
  readonly count: number
  /** Part of the path of each call that fails. Must not be empty or contain a space. */
  readonly pattern: string
}

export interface InterposeOptions {
  /** Only files below this folder count. */
  readonly root: string
  readonly fault?: SystemFault
  /** Calls fail only while this file exists. */
  readonly switchPath?: string
  /** This file gets a line for each call that failed. */
  readonly hitsPath?: string
  /** This file gets a record of each call that changed something. */
  readonly tracePath?: string
}

/** A compiled library that makes system calls of another process fail, or records them. */
export class Interposer {
  readonly #library: string

  private constructor(library: string) {
    this.#library = library
  }

  /** Compiles the library, passes it to `use`, and removes it. Returns why that is impossible here, if it is. */
  static async with<T>(use: (interposer: Interposer) => Promise<T>): Promise<T | string> {
    if (process.platform !== 'linux') return 'needs Linux'
    return withTemporary(async (folder) => {
      const interposer = await Interposer.#compile(join(folder, 'interpose.so'))
      return typeof interposer === 'string' ? interposer : use(interposer)
    })
  }

  static async #compile(library: string): Promise<Interposer | string> {
    const flags = ['-Wall', '-Wextra', '-O1', '-shared', '-fPIC', '-o', library, SOURCE, '-ldl', '-lpthread']
    try {
      await promisify(execFile)('gcc', flags)
      return new Interposer(library)
    } catch (error) {
      const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
      if (isMissing) return 'needs a C compiler: apt-get install gcc libc6-dev'
      throw error
    }
  }

  /** The variables with which a process is started. */
  environment({ root, fault, switchPath, hitsPath, tracePath }: InterposeOptions): Environment {
    return {
      LD_PRELOAD: this.#library,
      INTERPOSE_ROOT: root,
      // Otherwise libuv may hand files to the kernel without a call of libc.
      UV_USE_IO_URING: '0',
      ...(fault && {
        INTERPOSE_FAULT: [fault.call, fault.errno, fault.nth, fault.count, fault.pattern].join(' '),
      }),
      ...(switchPath !== undefined && { INTERPOSE_SWITCH: switchPath }),
      ...(hitsPath !== undefined && { INTERPOSE_HITS: hitsPath }),
      ...(tracePath !== undefined && { INTERPOSE_TRACE: tracePath }),
    }
  }
}
