import { RegistryError } from '../../core/index.ts'

/** Something that only the operator can correct: a setting, a flag, or what it names. Programs end with exit code 2. */
export const configError = (message: string, cause?: unknown): RegistryError =>
  new RegistryError('CONFIG_ERROR', message, cause === undefined ? {} : { cause })
