import { counted } from './counted.ts'

export const signIn = {
  intro: 'Sign in with your API key. The first one is the operator key, which the server shows at its first start.',
  companyHint: 'With the operator key, leave it empty to choose from a list.',
  key: 'API key',
  remember: 'Remember the key until I close this tab',
  rememberHint: 'Otherwise it is kept only in the memory of this page.',
  companies: 'Companies',
  chooseCompany: 'Choose a company',
  noCompanies: 'There is no company yet: enter a short name for yours above, such as “acme”, and sign in again.',
  companyMissing: 'Enter your company. Only the operator key works without one.',
  doNotFit: 'Company and key do not fit together. Check both; a key can also have expired or been deactivated.',
  counts: (systems: number, categories: number, evidences: number) =>
    `${counted(systems, 'key')}, ${categories} categories, ${counted(evidences, 'record')}`,
  verifyInstead: 'Verify a proof without a key',
} as const

/** In place of one that has ended. */
export const anotherKey = {
  title: 'Your key does not work any more',
  intro: (name: string) =>
    `“${name}” was deactivated, has expired, or got another key. Enter a key that works: what you have typed stays.`,
  go: 'Go on with this key',
} as const
