import { execFile } from 'node:child_process'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFor } from '../../support/temporary.ts'
import { moduleUrl, programArgs } from '../../support/repository.ts'

describe('a program in a realm of its own', () => {
  // Jest (with ES modules) and the vm pools of vitest: `instanceof` is false for Node's errors, and for dates, bytes
  // and objects that the program has from outside.
  it('stores, seals and verifies with files and LevelDB', async (t) => {
    const flags = ['--experimental-vm-modules', '--experimental-import-meta-resolve', '--no-warnings']
    const args = programArgs('test/services/embedding/other-realm.ts')
    const program = moduleUrl('test/services/embedding/program.ts').href
    await promisify(execFile)(process.execPath, [...flags, ...args, program, await temporaryFor(t)])
  })
})
