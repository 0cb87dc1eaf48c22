import { counted } from './counted.ts'

export const categories = {
  title: 'Categories',
  counts: (all: readonly { readonly subcategories: readonly unknown[] }[]) => {
    const subcategories = all.reduce((sum, each) => sum + each.subcategories.length, 0)
    return `${counted(all.length, 'category', 'categories')}, ${counted(subcategories, 'subcategory', 'subcategories')}`
  },
  empty: 'There is no category yet. Create one, or record something with a new category name.',
  create: 'New category',
  createSub: 'Add a subcategory',
  category: 'Category',
  records: 'Records',
  stolenOf: (name: string, count: number) => `${counted(count, 'stolen record')}: ${name}`,
  recordsOf: (name: string, count: number) => `${counted(count, 'record')}: ${name}`,
  image: 'Image',
  activate: 'Activate',
  deactivate: 'Deactivate',
  remove: 'Remove',
  removeTitle: (name: string) => `Remove ${name}?`,
  removeIntro: 'Its files are destroyed.',
  deactivateHint: 'Takes no new records',
  hasRecords: (count: number) => `Not possible: it has ${counted(count, 'record')}`,
  hasSubcategories: 'Not possible: it has subcategories',
  status: { inactive: 'Inactive', removed: 'Removed' },
  answeredTo: '“Is it stolen?” answered to',
  ownKeys: 'your keys only',
  asAbove: 'as above',
  publicStatus: 'Anyone may ask whether a thing of it is reported stolen',
  publicStatusHint:
    'A person who knows an id learns “reported stolen since …”, “not reported stolen” or “unknown”: no name, no ' +
    'owner, no photo.',
  isPublic: 'Anyone may ask',
} as const

/** The state of a thing, for anyone who knows its id. */
export const status = {
  title: 'Is it reported stolen?',
  intro: (company: string) =>
    `${company} answers for some of its categories. You get the state and, for a theft, its date; nothing else.`,
  number: 'Number, as on its sticker or certificate',
  numberHint: 'Exactly as it is written there, also capital letters',
  missing: 'Enter the number of the thing',
  ask: 'Ask',
  since: 'since',
  word: (time: string) => `The registry’s word, not proven here. Asked ${time}.`,
  activeText: 'It says nothing about the seller: ask for a link or a certificate.',
  unknown: 'Unknown',
  unknownText: (company: string) =>
    `${company} has no such number, or does not answer for its category. Do not take that for “not stolen”.`,
  tooMany: 'Too many questions',
  tryAgainIn: (seconds: number) => `Try again in ${seconds} s. Nothing is known about the thing.`,
  notReached: (host: string) => `${host} cannot be reached`,
  notReachedText: 'Nothing is known about the thing. Check the connection, then ask again.',
} as const
