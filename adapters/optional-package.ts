import { isError, RegistryError } from './kit/index.ts'

/**
 * Loads a module that needs an optional peer dependency.
 *
 * @param name name of the package, as in `npm install NAME`
 * @param load imports the module: `() => import('./database.ts')`
 * @returns what `load` resolves to
 * @throws RegistryError `CONFIG_ERROR` if that package is not installed; every other error of `load` is thrown
 *   unchanged
 */
export async function loadWithPackage<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    if (!isMissingPackage(cause, name)) throw cause
    throw new RegistryError('CONFIG_ERROR', `The package ${name} is not installed: run npm install ${name}`, { cause })
  }
}

/** Node names the missing package in the message only: `Cannot find package 'pg' imported from …`. */
const isMissingPackage = (error: unknown, name: string): boolean =>
  isError(error) && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND' && error.message.includes(`'${name}'`)
