import { createRequire } from 'node:module'
import { RegistryError } from '../../core/index.ts'

const require = createRequire(import.meta.url)

/**
 * Checks that an optional peer dependency is installed. `setting` is what needs it, for the message. Throws
 * `CONFIG_ERROR` with the command that installs it.
 */
export function assertInstalled(name: string, setting: string): void {
  try {
    require.resolve(name)
  } catch (cause) {
    throw new RegistryError('CONFIG_ERROR', `${setting} needs the package ${name}: run npm install ${name}`, { cause })
  }
}
